import type { Actor, Issue, UpdateIssue } from '@acp/contract';
import { fixedForms, together, type Tx, schema } from '@acp/db';
import { notFound } from '@acp/kernel';
import { getTableColumns, is, SQL, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { allKnown, assertReferences, knownReferences, withoutUnchanged } from '../trash/index.ts';
import { requestWakeups, type WakeupRequest } from '../wakeups/index.ts';
import { blockedNotice } from './notices.ts';
import { assertMayAssign, isTerminal, mayAssign, type IssuePlan, planUpdate } from './policy.ts';
import { issueUpdated, presentIssue } from './present.ts';
import { findIssue } from './find-issue.ts';
import { enqueueSettling } from './parking.ts';
import { changedNow, type IssueRow, type IssueVersion, rowVersion, shownIssue, toIssueRow } from './rows.ts';
import { lockIssue, unblockDependents } from './unblock.ts';

const { issues } = schema;

/** What a change of many issues does for all at once: several wakeups are locked in a fixed order. */
export interface Later {
  wakeups: WakeupRequest[];
  /** Issues that have ended, for `enqueueSettling`. */
  settling: string[];
}

/**
 * Changes an issue with all the consequences: a terminal status releases the checkout and unblocks dependents; a new assignee
 * is woken, and the checkout released unless it is their own; a human's change resets the loop breaker. A patch that changes
 * nothing writes nothing. Throws `invalid` for an unknown reference, `forbidden` for an agent that may not assign.
 * @param later takes what the caller sees to later in the transaction, for many issues at once
 */
export async function updateIssue(
  tx: Tx,
  actor: Actor,
  subject: IssueVersion,
  input: UpdateIssue,
  later?: Later,
): Promise<Issue> {
  const patch = withoutUnchanged('issues', subject, input);
  const wake = async (wakeups: readonly WakeupRequest[]): Promise<unknown> =>
    later ? later.wakeups.push(...wakeups) : requestWakeups(tx, actor, wakeups);
  const unlocked = await changeUnlocked(tx, actor, subject, patch);
  if (unlocked !== undefined) {
    await wake(wakeupsBy(unlocked.plan, unlocked.after));
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
  const [[row]] = await together(setColumns(tx, issue.id, plan.set), wake(wakeupsBy(plan, issue)));
  if (row === undefined) throw notFound();
  const after = toIssueRow(row);
  const waiting =
    ends && !isTerminal(issue.status) ? await unblockDependents(tx, after, dependents) : undefined;
  if (waiting !== undefined && later) later.settling.push(after.id);
  else if (waiting !== undefined) await enqueueSettling(tx, [after.id]);
  await wake(waiting?.wakeups ?? []);
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

/** Whoever ends an issue locks what waits for it. */
const ofItself: readonly string[] = ['title', 'body_markdown', 'status', 'priority'];
const referring = ['project_id', 'goal_id', 'assignee_agent_id'] as const;

/**
 * The same in one statement, if the row is still the version that the caller read and all that the patch refers to is there; otherwise
 * undefined, and nothing has been written.
 */
async function changeUnlocked(
  tx: Tx,
  actor: Actor,
  subject: IssueVersion,
  patch: UpdateIssue,
): Promise<Updated | undefined> {
  const known = [...ofItself, ...referring];
  if (subject.row_version === undefined || Object.keys(patch).some((field) => !known.includes(field)))
    return undefined;
  if (patch.status !== undefined && isTerminal(patch.status)) return undefined;
  const plan = planUpdate(subject, patch, actor);
  if (Object.keys(plan.set).length === 0) return undefined;
  if (plan.set.assignee_agent_id !== undefined && !mayAssign(actor)) return undefined;
  const [written] = await setColumns(tx, subject.id, plan.set, subject);
  // What the row holds now is known, but for the instants.
  return written && { before: subject, after: { ...subject, ...plan.set, ...toIssueRow(written) }, plan };
}

const columns = getTableColumns(issues);
const names = Object.keys(columns) as (keyof typeof columns)[];
const held = [...referring, 'checked_out_by_agent_id'] as const;
const updates = fixedForms([
  ...names,
  'of_id',
  'of_company_id',
  'row_version',
  ...held.map((name) => `had_${name}` as const),
]);
type Placed = Parameters<Parameters<typeof updates>[3]>[0];

const valuesOf = (set: IssuePlan['set']) =>
  Object.fromEntries(names.map((name) => [name, set[name]])) as Record<(typeof names)[number], unknown>;

const heldBy = (issue: IssueRow | undefined) =>
  Object.fromEntries(held.map((name) => [`had_${name}`, issue?.[name]])) as Record<
    `had_${(typeof held)[number]}`,
    unknown
  >;

/**
 * @param read the only version to be changed, and only as far as it refers to what is there; without it, any
 * @returns the row, or, of a given version, only what the database decides; undefined if there is none
 */
async function setColumns(
  tx: Tx,
  id: string,
  set: IssuePlan['set'],
  read?: IssueVersion,
): Promise<Record<string, unknown>[]> {
  const given = names.filter((name) => set[name] !== undefined);
  const named = referring.filter((name) => typeof set[name] === 'string');
  // `blocked_at` is either the statement's clock or null.
  const clock = given.filter((name) => is(set[name], SQL));
  const form = given.map((name) => (clock.includes(name) ? `${name} now` : name)).join();
  const values = {
    ...valuesOf(set),
    ...heldBy(read),
    of_id: id,
    of_company_id: read?.company_id,
    row_version: read?.row_version,
  };
  return updates(tx, `${form} ${read === undefined ? 'any' : `of ${named.join()}`}`, values, (placed) => {
    const parts = given.map((name) => {
      const value = set[name];
      return sql`${sql.identifier(name)} = ${is(value, SQL) ? value : placed[name]}`;
    });
    const changes = referring.some((name) => given.includes(name));
    const only =
      read === undefined ? sql`` : sql`and ${asRead(placed)} ${changes ? stillThere(placed, named) : sql``}`;
    return sql`update issues i set ${sql.join([...parts, sql`updated_at = ${changedNow}`], sql`, `)}
      where i.id = ${placed.of_id} ${only}
      returning ${read === undefined ? shownIssue : sql`i.blocked_at, i.updated_at ${changes ? asWritten : sql``}`}`;
  });
}

// Ids as the database writes them, however they were given.
const asWritten = sql.join(referring.map((name) => sql`, i.${sql.identifier(name)}`));

const asRead = (placed: Placed): SQL => sql`${rowVersion('i')} = ${placed.row_version}`;

/** What is named is there, and so is what the row had before, which would read as null in the trash. */
function stillThere(placed: Placed, named: readonly (typeof referring)[number][]): SQL {
  const had = held.map(
    (name) => sql`i.${sql.identifier(name)} is not distinct from ${placed[`had_${name}`]}::uuid`,
  );
  const input = Object.fromEntries(named.map((name) => [name, placed[name]]));
  return sql`and ${sql.join(had, sql` and `)} and (
    select ${allKnown('issues')} from (select ${knownReferences('issues', placed.of_company_id, input)}) known)`;
}
