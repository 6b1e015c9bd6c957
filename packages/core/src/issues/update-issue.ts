import type { Actor, Issue, UpdateIssue } from '@acp/contract';
import { fixedForms, together, type Tx, schema } from '@acp/db';
import { notFound } from '@acp/kernel';
import { getTableColumns, is, SQL, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { assertReferences, withoutUnchanged } from '../trash/index.ts';
import { requestWakeups, type WakeupRequest } from '../wakeups/index.ts';
import { blockedNotice } from './notices.ts';
import { assertMayAssign, isTerminal, type IssuePlan, planUpdate } from './policy.ts';
import { issueUpdated, presentIssue } from './present.ts';
import { findIssue } from './find-issue.ts';
import { enqueueSettling } from './parking.ts';
import { changedNow, type IssueRow, type IssueVersion, rowVersion, shownIssue, toIssueRow } from './rows.ts';
import { lockIssue, unblockDependents } from './unblock.ts';

const { issues } = schema;

/**
 * Changes an issue with all the consequences: a terminal status releases the checkout and unblocks dependents; a new assignee
 * is woken, and the checkout released unless it is their own; a human's change resets the loop breaker. A patch that changes
 * nothing writes nothing. Throws `invalid` for an unknown reference, `forbidden` for an agent that may not assign.
 */
export async function updateIssue(
  tx: Tx,
  actor: Actor,
  subject: IssueVersion,
  input: UpdateIssue,
): Promise<Issue> {
  const patch = withoutUnchanged('issues', subject, input);
  const unlocked = await changeUnlocked(tx, actor, subject, patch);
  if (unlocked !== undefined) {
    await requestWakeups(tx, actor, wakeupsBy(unlocked.plan, unlocked.after));
    return finishUpdate(tx, actor, unlocked);
  }
  const ends = patch.status !== undefined && isTerminal(patch.status);
  const [{ issue, dependents }] = await together(
    lockIssue(tx, subject.id, ends),
    assertReferences(tx, 'issues', subject.company_id, patch, subject.id),
  );
  if (!issue) throw notFound();
  if (patch.assignee_agent_id !== undefined && patch.assignee_agent_id !== issue.assignee_agent_id)
    assertMayAssign(actor);
  const plan = planUpdate(issue, patch, actor);
  if (Object.keys(plan.set).length === 0) return presentIssue((await findIssue(tx, issue.id)) ?? issue);
  const [[row]] = await together(
    setColumns(tx, issue.id, plan.set),
    requestWakeups(tx, actor, wakeupsBy(plan, issue)),
  );
  if (row === undefined) throw notFound();
  const after = toIssueRow(row);
  const waiting =
    ends && !isTerminal(issue.status) ? await unblockDependents(tx, after, dependents) : undefined;
  if (waiting !== undefined) await enqueueSettling(tx, [after.id]);
  await requestWakeups(tx, actor, waiting?.wakeups ?? []);
  return finishUpdate(tx, actor, { before: issue, after, plan, waiting });
}

function wakeupsBy({ wake, set }: IssuePlan, issue: IssueRow): WakeupRequest[] {
  const { assignee_agent_id: agent_id = issue.assignee_agent_id } = set;
  if (wake === undefined || agent_id === null) return [];
  return [{ company_id: issue.company_id, agent_id, issue_id: issue.id, reason: wake }];
}

interface Updated {
  before: IssueRow;
  after: IssueRow;
  plan: IssuePlan;
  /** What happens to the issues that waited for this one. */
  waiting?: { changes: Change[]; wakeups: WakeupRequest[] } | undefined;
}

/** Records and presents. */
async function finishUpdate(tx: Tx, actor: Actor, { before, after, plan, waiting }: Updated): Promise<Issue> {
  const changes: Change[] = [
    issueUpdated(after, 'issue.updated', { changes: plan.changes }),
    ...(await blockedNotice(tx, actor, before, after)),
    ...(waiting?.changes ?? []),
  ];
  await recordChanges(tx, actor, changes);
  return presentIssue(after);
}

/** References are checked against the database, and whoever ends an issue locks what waits for it. */
const ofItself: readonly string[] = ['title', 'body_markdown', 'status', 'priority'];

/**
 * The same in one statement, if the patch concerns only the issue itself and its row is still the version that the caller read;
 * otherwise undefined, and nothing has been written.
 */
async function changeUnlocked(
  tx: Tx,
  actor: Actor,
  subject: IssueVersion,
  patch: UpdateIssue,
): Promise<Updated | undefined> {
  const { row_version } = subject;
  if (row_version === undefined || Object.keys(patch).some((field) => !ofItself.includes(field)))
    return undefined;
  if (patch.status !== undefined && isTerminal(patch.status)) return undefined;
  const plan = planUpdate(subject, patch, actor);
  if (Object.keys(plan.set).length === 0) return undefined;
  const [written] = await setColumns(tx, subject.id, plan.set, row_version);
  // What the row holds now is known, but for the instants.
  return written && { before: subject, after: { ...subject, ...plan.set, ...toIssueRow(written) }, plan };
}

const columns = getTableColumns(issues);
const names = Object.keys(columns) as (keyof typeof columns)[];
const updates = fixedForms([...names, 'of_id', 'row_version']);

const valuesOf = (set: IssuePlan['set']) =>
  Object.fromEntries(names.map((name) => [name, set[name]])) as Record<(typeof names)[number], unknown>;

/**
 * @param row_version the only version to be changed; without it, any
 * @returns the row, or, of a given version, only what the database decides; undefined if there is none
 */
async function setColumns(
  tx: Tx,
  id: string,
  set: IssuePlan['set'],
  row_version?: string,
): Promise<Record<string, unknown>[]> {
  const given = names.filter((name) => set[name] !== undefined);
  // `blocked_at` is either the statement's clock or null.
  const clock = given.filter((name) => is(set[name], SQL));
  const form = given.map((name) => (clock.includes(name) ? `${name} now` : name)).join();
  const versioned = row_version !== undefined;
  return updates(tx, `${form} ${versioned}`, { ...valuesOf(set), of_id: id, row_version }, (values) => {
    const parts = given.map((name) => {
      const value = set[name];
      return sql`${sql.identifier(name)} = ${is(value, SQL) ? value : values[name]}`;
    });
    const only = versioned ? sql`and ${rowVersion('i')} = ${values.row_version}` : sql``;
    return sql`update issues i set ${sql.join([...parts, sql`updated_at = ${changedNow}`], sql`, `)}
      where i.id = ${values.of_id} ${only}
      returning ${versioned ? sql`i.blocked_at, i.updated_at` : shownIssue}`;
  });
}
