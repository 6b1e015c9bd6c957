import type { RegisterWorker, SharedModel } from '@acp/contract';
import { parseSharedModels } from '@acp/contract';
import { lockByName, schema, signal, type Tx } from '@acp/db';
import { forbidden, invalid, notFound, unavailable } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { recordChanges, recordInstanceAct } from '../activity/index.ts';
import { newKeyMaterial } from '../agents/index.ts';
import { actorOf, type WorkerRow } from './present.ts';
import { workerChanges } from './worker-changes.ts';

const { workers } = schema;

export interface RegistrationRules {
  /** SERVICE_REQUIRE_WORKER_APPROVAL */
  approval: boolean;
  /** SERVICE_MAX_REMOTE_WORKERS; 0: no limit. */
  max: number;
}

/**
 * Registers an unknown worker. Its key is only shown this once.
 * @throws unavailable at the limit; invalid without a name, or for shared models that can't be parsed
 */
export async function registerWorker(
  tx: Tx,
  input: RegisterWorker,
  { approval, max }: RegistrationRules,
): Promise<{ worker: WorkerRow; raw_key: string }> {
  const name = input.name?.trim();
  if (name === undefined) throw invalid("body must have required property 'name'");
  if (max > 0) await requireRoom(tx, max);
  const { raw_key, ...stored } = newKeyMaterial();
  const [worker] = await tx
    .insert(workers)
    .values({
      name,
      tags: distinct(input.tags ?? []),
      status: approval ? 'pending_approval' : 'approved',
      ...stored,
      ...toldOf(input),
      online: true,
      last_seen_at: sql`clock_timestamp()`,
    })
    .returning();
  await recordInstanceAct(tx, actorOf(worker!), 'worker.registered', detailsOf(worker!));
  await recordChanges(tx, actorOf(worker!), await workerChanges(tx, [worker!.id]));
  return { worker: worker!, raw_key };
}

/**
 * Registers a known worker again: the facts about its build are refreshed, its stored tags are kept.
 * @throws forbidden for a rejected or disabled one
 */
export async function resumeWorker(tx: Tx, worker_id: string, input: RegisterWorker): Promise<WorkerRow> {
  const [worker] = await tx
    .update(workers)
    .set({
      ...toldOf(input),
      online: true,
      last_seen_at: sql`clock_timestamp()`,
      updated_at: sql`now()`,
    })
    .where(eq(workers.id, worker_id))
    .returning();
  if (worker === undefined) throw notFound();
  if (worker.status === 'rejected' || worker.status === 'disabled')
    throw forbidden(`worker is ${worker.status}`);
  // Processes cache the shared models with the worker.
  signal(tx, 'credentials', worker.id);
  await recordChanges(tx, actorOf(worker), await workerChanges(tx, [worker.id]));
  return worker;
}

/** Serialises registrations, so that concurrent ones can't exceed the limit together. */
async function requireRoom(tx: Tx, max: number): Promise<void> {
  await lockByName(tx, 'workers.register');
  const { rows } = await tx.execute<{ known: number }>(sql`select count(*)::int as known from workers`);
  if ((rows[0]?.known ?? 0) >= max) throw unavailable('the instance has reached its limit of workers');
}

/** In characters of JSON: keeps lists of workers short. */
const MAX_SHARED = 20_000;

/** The worker's facts about itself; what it leaves out stays as it was. */
function toldOf({ version, commit, build_date, prompt_version, shared_models: given }: RegisterWorker) {
  const shared_models = given === undefined ? undefined : sharedModels(given);
  return { version, commit, build_date, prompt_version, shared_models };
}

function sharedModels(given: NonNullable<RegisterWorker['shared_models']>): SharedModel[] {
  const shared = typeof given === 'string' ? parseSharedModels(given) : given;
  if (JSON.stringify(shared).length > MAX_SHARED) throw invalid('body.shared_models is too long');
  return shared;
}

export const distinct = (tags: readonly string[]) => [...new Set(tags)];

function detailsOf({ id, name, tags, status }: WorkerRow) {
  return { worker_id: id, name, tags, status };
}
