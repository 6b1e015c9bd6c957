import type { Actor, Issue, UpdateIssue } from '@acp/contract';
import { fixedForms, type Tx, schema } from '@acp/db';
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
import { type IssueRow, shownIssue, toIssueRow } from './rows.ts';
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
  subject: IssueRow,
  input: UpdateIssue,
): Promise<Issue> {
  const patch = withoutUnchanged('issues', subject, input);
  const ends = patch.status !== undefined && isTerminal(patch.status);
  await assertReferences(tx, 'issues', subject.company_id, patch, subject.id);
  const { issue, dependents } = await lockIssue(tx, subject.id, ends);
  if (!issue) throw notFound();
  if (patch.assignee_agent_id !== undefined && patch.assignee_agent_id !== issue.assignee_agent_id)
    assertMayAssign(actor);
  const plan = planUpdate(issue, patch, actor);
  if (Object.keys(plan.set).length === 0) return presentIssue((await findIssue(tx, issue.id)) ?? issue);
  const after = await setColumns(tx, issue.id, plan.set);
  const changes: Change[] = [
    issueUpdated(after, 'issue.updated', { changes: plan.changes }),
    ...(await blockedNotice(tx, actor, issue, after)),
  ];
  const wakeups: WakeupRequest[] = [];
  if (plan.wake !== undefined && after.assignee_agent_id !== null)
    wakeups.push({
      company_id: after.company_id,
      agent_id: after.assignee_agent_id,
      issue_id: after.id,
      reason: plan.wake,
    });
  if (ends && !isTerminal(issue.status)) {
    const waiting = await unblockDependents(tx, after, dependents);
    changes.push(...waiting.changes);
    wakeups.push(...waiting.wakeups);
    await enqueueSettling(tx, [after.id]);
  }
  await requestWakeups(tx, actor, wakeups);
  await recordChanges(tx, actor, changes);
  return presentIssue(after);
}

const columns = getTableColumns(issues);
const names = Object.keys(columns) as (keyof typeof columns)[];
const updates = fixedForms([...names, 'of_id']);

const valuesOf = (set: IssuePlan['set']) =>
  Object.fromEntries(names.map((name) => [name, set[name]])) as Record<(typeof names)[number], unknown>;

async function setColumns(tx: Tx, id: string, set: IssuePlan['set']): Promise<IssueRow> {
  const given = names.filter((name) => set[name] !== undefined);
  // `blocked_at` is either the statement's clock or null.
  const clock = given.filter((name) => is(set[name], SQL));
  const form = given.map((name) => (clock.includes(name) ? `${name} now` : name)).join();
  const [row] = await updates(tx, form, { ...valuesOf(set), of_id: id }, (values) => {
    const parts = given.map((name) => {
      const value = set[name];
      return sql`${sql.identifier(name)} = ${is(value, SQL) ? value : values[name]}`;
    });
    return sql`update issues i set ${sql.join([...parts, sql`updated_at = now()`], sql`, `)}
      where i.id = ${values.of_id} returning ${shownIssue}`;
  });
  if (!row) throw notFound();
  return toIssueRow(row);
}
