import { schema, type Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { sweepSubjects } from '../runs/index.ts';
import { EVOLUTION_STEP } from './step-proposal.ts';

/** Cancels steps that can't start, and advances evolutions whose job was lost or that were held up. @returns how many */
export async function sweepEvolutions(tx: Tx): Promise<number> {
  const subjects = { kind: EVOLUTION_STEP, table: sql`${schema.prompt_evolutions}`, running: 'running' };
  const ids = await sweepSubjects(tx, subjects);
  await enqueueMany(
    tx,
    'advance-evolution',
    ids.map((evolution_id) => ({ evolution_id })),
  );
  return ids.length;
}
