import type { WorkerActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { eq, getTableColumns, sql } from 'drizzle-orm';
import { actorOf } from './present.ts';

const { workers } = schema;
const { id, name, status, tags, shared_models, key_hash } = getTableColumns(workers);

/** The key's worker, whatever its status: the caller decides what it may do (specification, Authentication 3). */
export async function resolveWorker(tx: Tx, hash: string): Promise<WorkerActor | undefined> {
  const [row] = await tx
    .select({ id, name, status, tags, shared_models })
    .from(workers)
    .where(eq(key_hash, hash));
  return row && actorOf(row);
}

/** The same for many keys, in one statement. @returns in the order of the hashes, undefined for unknown ones */
export async function resolveWorkers(
  tx: Tx,
  hashes: readonly string[],
): Promise<(WorkerActor | undefined)[]> {
  const rows = await tx
    .select({ id, name, status, tags, shared_models, key_hash })
    .from(workers)
    // The same text for any number of hashes, so the statement keeps its plan.
    .where(sql`${key_hash} in (select jsonb_array_elements_text(${JSON.stringify(hashes)}::jsonb))`);
  const known = new Map(rows.map((row) => [row.key_hash, actorOf(row)]));
  return hashes.map((hash) => known.get(hash));
}
