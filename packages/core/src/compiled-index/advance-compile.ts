import { liveRunStatuses, schema, type Tx } from '@acp/db';
import { inWords, newId, stated } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import { and, asc, eq, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { BUDGET_EXCEEDED } from '../agents/index.ts';
import { admitRuns, LONGEST_WAIT, readAgentFacts, sweepSubjects, WAITED_TOO_LONG } from '../runs/index.ts';
import { flagEnabled } from '../settings/index.ts';
import { COMPILE, compileProposal } from './compile-proposal.ts';
import { endCompile, finishCompile } from './end-compile.ts';
import { indexChange, type IndexRow } from './read-index.ts';

const { compiled_batches, compiled_indexes } = schema;
const scheduler = systemActor('scheduler');

const ATTEMPTS = 3;
/** Failures that would recur on another attempt. */
const FINAL = new Set(['budget', 'config', 'quota', 'auth']);

/** Advances a compilation as far as its rows allow: the job `advance-compile`. Idempotent. */
export async function advanceCompile(tx: Tx, index_id: string): Promise<void> {
  // Lock order: the agent before the index.
  await tx.execute(sql`select from agents a join compiled_indexes i on i.agent_id = a.id
    where i.id = ${index_id} for no key update of a`);
  const [index] = await tx
    .select()
    .from(compiled_indexes)
    .where(and(eq(compiled_indexes.id, index_id), eq(compiled_indexes.status, 'compiling')))
    .for('no key update');
  if (index !== undefined) await advanceLocked(tx, index);
}

/** Processes one portion after the other: each is given the statements of the previous ones. */
export async function advanceLocked(tx: Tx, index: IndexRow): Promise<void> {
  const agent = await readAgentFacts(tx, index.agent_id);
  if (agent === undefined || agent.status === 'terminated')
    return endCompile(tx, scheduler, index, { status: 'cancelled', error: stated('the agent is gone') });
  if (!(await flagEnabled(tx, 'compiled_knowledge')))
    return endCompile(tx, scheduler, index, { status: 'cancelled', error: stated('it was switched off') });
  await failLost(tx, index);
  const batches = await tx
    .select()
    .from(compiled_batches)
    .where(eq(compiled_batches.index_id, index.id))
    .orderBy(asc(compiled_batches.number));
  const given = batches.find(
    ({ status, attempts, error_category: category }) =>
      status === 'failed' && (attempts >= ATTEMPTS || FINAL.has(category ?? '')),
  );
  if (given !== undefined) return finishCompile(tx, index, given.error ?? 'a portion failed');
  if (await isOverdue(tx, index)) return finishCompile(tx, index, WAITED_TOO_LONG);
  if (batches.some(({ status }) => status === 'asked')) return tell(tx, index, null);
  const next = batches.find(({ status }) => status !== 'done');
  if (next === undefined) return finishCompile(tx, index, null);
  const run_id = newId();
  const { admitted, refused } = await admitRuns(tx, scheduler, agent, [
    compileProposal(index, agent, run_id, next.number),
  ]);
  if (admitted.length > 0)
    await tx
      .update(compiled_batches)
      .set({ run_id, status: 'asked', attempts: next.attempts + 1 })
      .where(and(eq(compiled_batches.index_id, index.id), eq(compiled_batches.number, next.number)));
  const reason = refused[0]?.reason ?? null;
  if (reason === BUDGET_EXCEEDED) return finishCompile(tx, index, BUDGET_EXCEEDED);
  return tell(tx, index, reason && inWords(reason));
}

async function tell(tx: Tx, index: IndexRow, waiting_reason: string | null): Promise<void> {
  const [row] = await tx
    .update(compiled_indexes)
    .set({ waiting_reason })
    .where(eq(compiled_indexes.id, index.id))
    .returning();
  await recordChanges(tx, scheduler, [await indexChange(tx, row!)]);
}

async function isOverdue(tx: Tx, { id }: IndexRow): Promise<boolean> {
  const { rows } = await tx.execute(
    sql`select from compiled_indexes where id = ${id} and created_at < now() - ${LONGEST_WAIT}`,
  );
  return rows.length > 0;
}

/** Fails portions whose run disappeared without ending. */
async function failLost(tx: Tx, { id }: IndexRow): Promise<void> {
  await tx.execute(sql`
    update compiled_batches b set status = 'failed', error = 'its run is gone', error_category = 'lost'
    where b.index_id = ${id} and b.status = 'asked'
      and not exists (select from heartbeat_runs r where r.id = b.run_id and r.status in ${liveRunStatuses})`);
}

/** Cancels portions that can't start, and advances compilations that were held up or whose job was lost. @returns how many */
export async function sweepCompiles(tx: Tx): Promise<number> {
  const subjects = { kind: COMPILE, table: sql`${compiled_indexes}`, running: 'compiling' };
  const ids = await sweepSubjects(tx, subjects);
  await enqueueMany(
    tx,
    'advance-compile',
    ids.map((index_id) => ({ index_id })),
  );
  return ids.length;
}
