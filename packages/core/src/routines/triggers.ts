import type {
  Actor,
  CreateRoutineTrigger,
  NewRoutineTrigger,
  RoutineTrigger,
  UpdateRoutineTrigger,
} from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { invalid, isUuid, newId, newToken, notFound, type Vault } from '@acp/kernel';
import { and, eq, getTableColumns, isNull } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { answerableUser, ofLiveCompany } from '../companies/index.ts';
import { parseCron } from '../settings/index.ts';
import { assertMayHaveDone, assertMaySetOff } from './policy.ts';
import { presentNewTrigger, presentTriggerTo } from './present.ts';
import type { RoutineRow, TriggerRow } from './rows.ts';
import { assertMayOpen } from './signing.ts';
import { nextFireNow, type Schedule } from './schedule-triggers.ts';
import { changeOfTrigger, changeTrigger, lockTrigger, secretPlace } from './trigger-store.ts';

const { companies, routine_triggers, routines } = schema;

/** Loads a trigger for its scope; also undefined if its routine or company is in the trash. */
export async function findRoutineTrigger(tx: Tx, id: string): Promise<TriggerRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(getTableColumns(routine_triggers))
    .from(routine_triggers)
    .innerJoin(routines, and(eq(routines.id, routine_triggers.routine_id), isNull(routines.deleted_at)))
    .innerJoin(companies, ofLiveCompany(routines.company_id))
    .where(eq(routine_triggers.id, id));
  return row;
}

/** Newest first. @param reader who will see them */
export async function listTriggers(
  tx: Tx,
  reader: Actor,
  routine: Pick<RoutineRow, 'id'>,
  query: PageRequest,
): Promise<Page<RoutineTrigger>> {
  const page = newestFirst(routine_triggers.created_at, routine_triggers.id, query, 50);
  const rows = tx
    .select()
    .from(routine_triggers)
    .where(and(eq(routine_triggers.routine_id, routine.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, (row) => presentTriggerTo(reader, row));
}

/**
 * Adds a webhook or a schedule. A signed webhook's secret is only in this response.
 * @throws invalid for a bad expression or zone, unavailable if a secret can't be sealed, forbidden for a webhook by a run, and for an
 * agent that may not do what the routine does
 */
export async function createTrigger(
  tx: Tx,
  actor: Actor,
  routine: Pick<RoutineRow, 'id' | 'company_id' | 'assignee_agent_id'>,
  input: CreateRoutineTrigger,
  vault: Vault,
): Promise<NewRoutineTrigger> {
  assertMayHaveDone(actor, routine);
  if (input.kind === 'webhook') assertMayOpen(actor);
  const id = newId();
  const schedule = scheduleOf(input);
  const signing_mode = input.signing_mode ?? 'none';
  const secret = signing_mode === 'none' ? null : newToken();
  const sealed = secret === null ? null : vault.seal(secret, secretPlace(id));
  const created_by_user_id =
    input.kind === 'webhook' ? await answerableUser(tx, actor, routine.company_id, 'member') : null;
  const row = await insertTrigger(tx, routine, {
    id,
    kind: input.kind,
    label: input.label,
    signing_mode,
    secret_sealed: sealed,
    created_by_user_id,
    ...schedule,
  });
  await recordChanges(tx, actor, [changeOfTrigger(row, 'routine_trigger.created')]);
  return presentNewTrigger(row, secret);
}

type NewTrigger = Omit<typeof routine_triggers.$inferInsert, 'company_id' | 'routine_id' | 'next_fire_at'>;

/** The trigger without its activity; a schedule gets its first fire time. */
export async function insertTrigger(
  tx: Tx,
  routine: Pick<RoutineRow, 'id' | 'company_id'>,
  values: NewTrigger,
): Promise<TriggerRow> {
  await assertRoom(tx, 'routine_triggers', routine.id);
  const schedule = storedSchedule(values);
  const next_fire_at = schedule && (await nextFireNow(tx, schedule));
  const [row] = await tx
    .insert(routine_triggers)
    .values({ ...values, company_id: routine.company_id, routine_id: routine.id, next_fire_at })
    .returning();
  return row!;
}

/** Null for a webhook. @throws invalid if fields of both kinds are combined */
function scheduleOf(input: CreateRoutineTrigger): Schedule | null {
  const { kind, cron_expression, timezone, signing_mode } = input;
  if (kind === 'webhook') {
    if (cron_expression !== undefined || timezone !== undefined)
      throw invalid('cron_expression and timezone belong to a schedule');
    return null;
  }
  if (cron_expression === undefined) throw invalid('body.cron_expression is required for a schedule');
  if (signing_mode !== undefined && signing_mode !== 'none') throw invalid('only webhooks are signed');
  return { cron_expression: parseCron(cron_expression).expression, timezone: timezone ?? 'UTC' };
}

function storedSchedule(row: Pick<NewTrigger, 'cron_expression' | 'timezone'>): Schedule | null {
  const { cron_expression, timezone } = row;
  return cron_expression ? { cron_expression, timezone: timezone ?? 'UTC' } : null;
}

/** Changes a trigger; absent fields stay. A new or newly enabled schedule counts from now. @throws like `createTrigger` */
export async function updateTrigger(
  tx: Tx,
  actor: Actor,
  subject: TriggerRow,
  input: UpdateRoutineTrigger,
): Promise<RoutineTrigger> {
  const trigger = await lockTrigger(tx, subject);
  await assertMaySetOff(tx, actor, trigger);
  const { enabled, label, replay_window_sec, timezone } = input;
  const rescheduled = input.cron_expression !== undefined || timezone !== undefined;
  const before = storedSchedule(trigger);
  if (rescheduled && before === null) throw invalid('cron_expression and timezone belong to a schedule');
  const cron_expression = input.cron_expression && parseCron(input.cron_expression).expression;
  const set = { enabled, label, replay_window_sec, cron_expression, timezone };
  const schedule = before && {
    cron_expression: cron_expression ?? before.cron_expression,
    timezone: timezone ?? before.timezone,
  };
  const switched = enabled !== undefined && enabled !== trigger.enabled;
  // Also checked when disabled: a bad zone must not go unnoticed until the trigger is enabled.
  const next = schedule && (rescheduled || switched) ? await nextFireNow(tx, schedule) : undefined;
  const next_fire_at = next && (enabled ?? trigger.enabled) ? next : next && null;
  const row = await changeTrigger(tx, trigger, { ...set, next_fire_at });
  const fields = Object.keys(input);
  await recordChanges(tx, actor, [changeOfTrigger(row, 'routine_trigger.updated', { fields })]);
  return presentTriggerTo(actor, row);
}

/** Deletes it for good; the runs it caused stay. */
export async function deleteTrigger(tx: Tx, actor: Actor, trigger: TriggerRow): Promise<void> {
  const gone = await tx
    .delete(routine_triggers)
    .where(eq(routine_triggers.id, trigger.id))
    .returning({ id: routine_triggers.id });
  if (gone.length === 0) throw notFound();
  await recordChanges(tx, actor, [changeOfTrigger(trigger, 'routine_trigger.deleted')]);
}
