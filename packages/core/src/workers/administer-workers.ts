import {
  type Actor,
  type AdminWorker,
  commaList,
  type CreateWorker,
  type UpdateWorker,
  type Worker,
  workerStatuses,
  type WorkerStatus,
} from '@acp/contract';
import {
  byCreation,
  containing,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  signal,
  type Tx,
} from '@acp/db';
import { conflict, isUuid, notFound, said, saidValue } from '@acp/kernel';
import { and, eq, inArray, not, sql } from 'drizzle-orm';
import { recordChanges, recordInstanceAct, systemActor } from '../activity/index.ts';
import { newKeyMaterial } from '../agents/index.ts';
import { answerableUser, isInstanceAdmin, type Leaving, type LeftCredential } from '../companies/index.ts';
import { isOnline, presentAdminWorker, presentWorker, type WorkerWithLoad } from './present.ts';
import { distinct } from './register-worker.ts';
import { releaseTasksOf } from './release-tasks.ts';
import { readWorkers, w, withLoad, workerChange, workerChanges } from './worker-changes.ts';

const { workers } = schema;

/** What `q` is looked for in. */
const searchedColumns = [w.name, sql`${w.tags}::text`];

/** An admin's actions on a worker: the states they start from and lead to (specification, Remote worker). */
const moves = {
  approve: { from: ['pending_approval'], to: 'approved' },
  reject: { from: ['pending_approval'], to: 'rejected' },
  disable: { from: ['approved', 'draining'], to: 'disabled' },
  enable: { from: ['disabled'], to: 'approved' },
  drain: { from: ['approved'], to: 'draining' },
  undrain: { from: ['draining'], to: 'approved' },
} as const satisfies Record<string, { from: readonly WorkerStatus[]; to: WorkerStatus }>;
export type WorkerMove = keyof typeof moves;
export const workerMoves = Object.keys(moves) as readonly WorkerMove[];

/** Creates an approved worker ahead of its first start. @returns its id, and its key, which is only shown this once */
export async function createWorker(
  tx: Tx,
  actor: Actor,
  input: CreateWorker,
): Promise<{ worker_id: string; api_key: string }> {
  const created_by_user_id = await answerableUser(tx, actor, null, null);
  const { raw_key, ...stored } = newKeyMaterial();
  const [worker] = await tx
    .insert(workers)
    .values({
      name: input.name.trim(),
      tags: distinct(input.tags ?? []),
      status: 'approved',
      created_by_user_id,
      ...stored,
    })
    .returning();
  const { id, name, tags } = worker!;
  await recordInstanceAct(tx, actor, 'worker.created', { worker_id: id, name, tags });
  await recordChanges(tx, actor, await workerChanges(tx, [id]));
  return { worker_id: id, api_key: raw_key };
}

/** @throws notFound */
export async function updateWorker(
  tx: Tx,
  actor: Actor,
  worker_id: string,
  { name, tags }: UpdateWorker,
): Promise<AdminWorker> {
  const change = {
    ...(name === undefined ? {} : { name: name.trim() }),
    ...(tags === undefined ? {} : { tags: distinct(tags) }),
  };
  await write(tx, worker_id, change);
  return tell(tx, actor, worker_id, 'worker.updated', change);
}

/**
 * Moves a worker between its states. The claims of a disabled one return to the queue, since it can no longer deliver them.
 * @throws notFound; conflict for a state that the move does not start from
 */
export async function moveWorker(
  tx: Tx,
  actor: Actor,
  worker_id: string,
  move: WorkerMove,
): Promise<AdminWorker> {
  const { from, to } = moves[move];
  const before = await lock(tx, worker_id);
  if (!from.some((status) => status === before.worker.status))
    throw conflict(said`worker is ${saidValue(before.worker.status)}`);
  // Whoever enables a key again answers for it, if anyone does.
  const taken =
    move === 'enable' && before.worker.created_by_user_id !== null
      ? { created_by_user_id: await answerableUser(tx, actor, null, null) }
      : {};
  await write(tx, worker_id, { status: to, ...taken });
  if (to === 'disabled') await releaseTasksOf(tx, [worker_id], `worker ${before.worker.name} was disabled`);
  return tell(tx, actor, worker_id, `worker.${move}`, { from: before.worker.status, to });
}

/** Finished tasks are kept without a worker; claimed ones return to the queue. @throws notFound */
export async function deleteWorker(tx: Tx, actor: Actor, worker_id: string): Promise<void> {
  const before = await lock(tx, worker_id);
  await releaseTasksOf(tx, [worker_id], `worker ${before.worker.name} was deleted`);
  await tx.delete(workers).where(eq(workers.id, worker_id));
  signal(tx, 'credentials', worker_id);
  await recordInstanceAct(tx, actor, 'worker.deleted', { worker_id, name: before.worker.name });
  await recordChanges(tx, actor, [workerChange(before, true)]);
}

/** Newest first. */
export async function listWorkers(tx: Tx, query: SearchRequest): Promise<Page<Worker>> {
  const page = newestFirst(w.created_at, w.id, query, null);
  const rows = tx
    .select()
    .from(w)
    .where(and(containing(query.q, searchedColumns), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentWorker);
}

const UNASKED = 50;

/** The same with versions and load. @throws invalid for an unknown status */
export async function listAdminWorkers(
  tx: Tx,
  { status, online, ...query }: SearchRequest & { status?: string | undefined; online?: boolean | undefined },
): Promise<Page<AdminWorker>> {
  const asked = commaList(status, workerStatuses, 'status');
  const page = newestFirst(w.created_at, w.id, query, UNASKED);
  const rows = await tx
    .select(withLoad)
    .from(w)
    .where(
      and(
        asked && inArray(w.status, asked),
        online === undefined ? undefined : sql`${isOnline} = ${online}`,
        containing(query.q, searchedColumns),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, ({ worker: { created_at, id } }) => ({ at: created_at, id }), presentAdminWorker);
}

/** Null if there is none. */
export async function findAdminWorker(tx: Tx, worker_id: string): Promise<AdminWorker | null> {
  const [row] = await readWorkers(tx, [worker_id]);
  return row === undefined ? null : presentAdminWorker(row);
}

/** Disables workers whose key was shown to someone who is no longer an instance admin, or hands them over. */
export async function settleWorkersOf(
  tx: Tx,
  { user_id, heir, claimed = false }: Omit<Leaving, 'company_id'>,
): Promise<LeftCredential[]> {
  const lost = and(
    eq(workers.created_by_user_id, user_id),
    claimed ? undefined : not(isInstanceAdmin(user_id)),
  );
  const usable = inArray(workers.status, ['approved', 'draining', 'pending_approval']);
  const left =
    heir === undefined
      ? await tx
          .update(workers)
          .set({ status: 'disabled', updated_at: sql`now()` })
          .where(and(lost, usable))
          .returning()
      : await tx.update(workers).set({ created_by_user_id: heir }).where(lost).returning();
  const ids = left.map(({ id }) => id);
  if (heir === undefined && ids.length > 0) {
    await releaseTasksOf(tx, ids, 'the worker was disabled');
    for (const id of ids) signal(tx, 'credentials', id);
    await recordChanges(tx, systemActor('workers'), await workerChanges(tx, ids));
  }
  return left.map(({ id, name }) => ({ kind: 'worker', id, company_id: null, label: name }));
}

async function lock(tx: Tx, worker_id: string): Promise<WorkerWithLoad> {
  if (!isUuid(worker_id)) throw notFound();
  const [locked] = await tx
    .select({ id: workers.id })
    .from(workers)
    .where(eq(workers.id, worker_id))
    .for('update');
  const [row] = locked === undefined ? [] : await readWorkers(tx, [worker_id]);
  if (row === undefined) throw notFound();
  return row;
}

async function write(
  tx: Tx,
  worker_id: string,
  change: Partial<{ name: string; tags: string[]; status: WorkerStatus; created_by_user_id: string | null }>,
): Promise<void> {
  if (!isUuid(worker_id)) throw notFound();
  const { rowCount } = await tx
    .update(workers)
    .set({ ...change, updated_at: sql`now()` })
    .where(eq(workers.id, worker_id));
  if (rowCount === 0) throw notFound();
  // Processes have cached it.
  signal(tx, 'credentials', worker_id);
}

async function tell(
  tx: Tx,
  actor: Actor,
  worker_id: string,
  action: string,
  details: object,
): Promise<AdminWorker> {
  const [row] = await readWorkers(tx, [worker_id]);
  if (row === undefined) throw notFound();
  await recordInstanceAct(tx, actor, action, { worker_id, name: row.worker.name, ...details });
  await recordChanges(tx, actor, [workerChange(row)]);
  return presentAdminWorker(row);
}
