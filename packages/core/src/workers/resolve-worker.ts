import type { WorkerActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { eq } from 'drizzle-orm';
import { actorOf } from './present.ts';

const { workers } = schema;

/** Whose key it is, whatever the worker's status: who asks decides what that one may do (specification, Authentication 3). */
export async function resolveWorker(tx: Tx, key_hash: string): Promise<WorkerActor | undefined> {
  const { id, name, status, tags, shared_models } = workers;
  const [row] = await tx
    .select({ id, name, status, tags, shared_models })
    .from(workers)
    .where(eq(workers.key_hash, key_hash));
  return row && actorOf(row);
}
