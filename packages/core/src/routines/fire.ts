/** Fires a routine once: its concurrency policy decides what happens (decisions 3, Routines). */
import type { Actor, FiredRoutine, Issue, OutsideActor, RoutineSource } from '@acp/contract';
import { asServiceError, savepoint, type Tx, terminalIssueStatuses } from '@acp/db';
import { conflict, newId, notFound, said, saidValue } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { type Change, outsideActor, recordChanges } from '../activity/index.ts';
import { writeComment } from '../comments/index.ts';
import { createIssue, type IssueRow, toIssueRow } from '../issues/index.ts';
import { requireEntitlement } from '../settings/index.ts';
import { payloadComment } from './payload.ts';
import { assertMayHaveDone } from './policy.ts';
import { firedEvent, presentRoutineRun } from './present.ts';
import { type LockedRoutine, lockRoutine, type RoutineRow, type RoutineRunRow, toRunRow } from './rows.ts';
import { changeOf } from './routines.ts';
import { fillTemplate } from './template.ts';

export interface Fire {
  source: RoutineSource;
  /** Arbitrary JSON; null if there was none. */
  payload: unknown;
  trigger_id?: string;
  payload_sha256?: string;
  /** Set for schedules only. */
  due_at?: Date;
}

type Outcome = Pick<RoutineRunRow, 'status' | 'issue_id' | 'error'> & { changes?: Change[] };

const LONGEST_TITLE = 500;
const LONGEST_BODY = 1_000_000;

/** Fires by hand or by a verb. @throws conflict while the routine is not active, forbidden for an agent that may not do what it does */
export async function fireRoutine(
  tx: Tx,
  actor: Actor,
  subject: Pick<RoutineRow, 'id'>,
  input: { payload?: unknown } = {},
): Promise<FiredRoutine & { issue: { identifier: string } | null }> {
  const locked = await lockRoutine(tx, subject.id);
  if (!locked) throw notFound();
  assertMayHaveDone(actor, locked.routine);
  if (locked.routine.status !== 'active')
    throw conflict(said`the routine is ${saidValue(locked.routine.status)}`);
  const source = actor.kind === 'agent' ? 'agent' : 'manual';
  const fire: Fire = { source, payload: input.payload ?? null };
  const { run, identifier } = await fireLocked(tx, actor, locked, fire);
  return {
    status: presentRoutineRun(run).status,
    run: presentRoutineRun(run),
    issue: identifier === null ? null : { identifier },
  };
}

/**
 * Who acts when a trigger fires: nobody with rights, since whoever called a public webhook is a stranger. What the routine does was
 * allowed when its author set it up; the activity names the routine and the trigger.
 */
export function triggeredRoutine(
  { name }: Pick<RoutineRow, 'name'>,
  trigger: { kind: string; label: string | null },
): OutsideActor {
  const by = trigger.label === null ? trigger.kind : `${trigger.kind} ${oneLine(trigger.label)}`;
  return outsideActor(`routine ${name} (${by})`);
}

/** Outcome of a trigger; `defect` is an internal error, for the log. */
export interface TriggeredRun {
  run: RoutineRunRow;
  defect?: unknown;
}

/**
 * Fires for a trigger, whose caller can't fix the routine: a refusal is recorded as a failed run. Transient errors (a deadlock, a
 * lost connection) are thrown.
 */
export async function fireForTrigger(
  tx: Tx,
  actor: Actor,
  locked: LockedRoutine,
  fire: Fire,
): Promise<TriggeredRun> {
  try {
    const { run } = await savepoint(tx, async (inner) => fireLocked(inner, actor, locked, fire));
    return { run };
  } catch (err) {
    const refusal = asServiceError(err);
    if (refusal?.kind === 'unavailable') throw err;
    const failed = { status: 'failed', issue_id: null, error: refusal?.message ?? 'internal error' };
    const run = await record(tx, actor, locked, newId(), fire, failed);
    return refusal ? { run } : { run, defect: err };
  }
}

async function fireLocked(
  tx: Tx,
  actor: Actor,
  locked: LockedRoutine,
  fire: Fire,
): Promise<{ run: RoutineRunRow; identifier: string | null }> {
  await requireEntitlement(tx);
  const { routine } = locked;
  const id = newId();
  const active = routine.concurrency_policy === 'always_enqueue' ? undefined : await activeIssue(tx, routine);
  if (active && routine.concurrency_policy === 'skip_if_active') {
    const run = await record(tx, actor, locked, id, fire, { status: 'skipped', issue_id: null, error: null });
    return { run, identifier: active.identifier };
  }
  if (active) {
    const changes = await coalesce(tx, actor, active, routine.name, fire);
    const outcome = { status: 'coalesced', issue_id: active.id, error: null, changes };
    return { run: await record(tx, actor, locked, id, fire, outcome), identifier: active.identifier };
  }
  const issue = await makeIssue(tx, actor, locked, id, fire);
  const outcome = { status: 'enqueued', issue_id: issue.id, error: null };
  return { run: await record(tx, actor, locked, id, fire, outcome), identifier: issue.identifier };
}

/**
 * The newest open issue created by an earlier run, with its row locked: it can't be closed between this check and the comment.
 * The condition on issues is spelled as in the index `issues_routine_open`.
 */
async function activeIssue(
  tx: Tx,
  routine: Pick<RoutineRow, 'id' | 'company_id'>,
): Promise<IssueRow | undefined> {
  const { rows } = await tx.execute(sql`
    select i.* from issues i
    join routine_runs r on r.issue_id = i.id and r.status = 'enqueued' and r.routine_id = ${routine.id}
    where i.company_id = ${routine.company_id} and i.deleted_at is null and i.origin_kind = 'routine'
      and i.status not in ${terminalIssueStatuses}
    order by i.created_at desc, i.id desc limit 1
    for no key update of i`);
  return rows[0] && toIssueRow(rows[0]);
}

/** Adds the payload as a comment and wakes the assignee, like any comment. */
async function coalesce(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  routine_name: string,
  { source, payload }: Fire,
): Promise<Change[]> {
  const body_markdown = payloadComment(routine_name, source, payload);
  return (await writeComment(tx, actor, issue, { body_markdown })).changes;
}

async function makeIssue(
  tx: Tx,
  actor: Actor,
  { routine, now }: LockedRoutine,
  run_id: string,
  { payload }: Fire,
): Promise<Issue> {
  const values = { payload, now: now.toISOString(), routine: { name: routine.name } };
  const title = oneLine(fillTemplate(routine.title_template, values, LONGEST_TITLE)) || oneLine(routine.name);
  const { body_template, assignee_agent_id, project_id, goal_id } = routine;
  return createIssue(
    tx,
    actor,
    routine.company_id,
    {
      title,
      body_markdown: body_template && fillTemplate(body_template, values, LONGEST_BODY),
      priority: routine.priority as Issue['priority'],
      assignee_agent_id,
      project_id,
      goal_id,
    },
    { kind: 'routine', id: run_id },
  );
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

/** Writes the run, the routine's `last_fired_at`, and all activity and events except those of a new issue. */
async function record(
  tx: Tx,
  actor: Actor,
  { routine }: LockedRoutine,
  id: string,
  fire: Fire,
  { status, issue_id, error, changes = [] }: Outcome,
): Promise<RoutineRunRow> {
  const payload = fire.payload === null ? null : JSON.stringify(fire.payload);
  const { rows } = await tx.execute(sql`
    with fired as (update routines set last_fired_at = now() where id = ${routine.id})
    insert into routine_runs (id, company_id, routine_id, trigger_id, source, status, issue_id, payload, payload_sha256,
      error, due_at)
    values (${id}, ${routine.company_id}, ${routine.id}, ${fire.trigger_id ?? null}, ${fire.source}, ${status},
      ${issue_id}, ${payload}::jsonb, ${fire.payload_sha256 ?? null}, ${error}, ${fire.due_at ?? null}::timestamptz)
    returning *`);
  const run = toRunRow(rows[0]!);
  const { source, trigger_id } = run;
  await recordChanges(tx, actor, [
    ...changes,
    {
      ...changeOf(routine, 'routine.fired', { source, status, issue_id, trigger_id, error }),
      event: { type: 'routine_fired', data: firedEvent(run, routine.name) },
    },
  ]);
  return run;
}
