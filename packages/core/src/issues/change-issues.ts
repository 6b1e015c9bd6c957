import type { Actor, ChangedIssues, IssueChange } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, invalid, said } from '@acp/kernel';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { lockTrashed, purgeOldTrash } from '../trash/index.ts';
import { requestWakeups } from '../wakeups/index.ts';
import { deleteIssue } from './delete-issue.ts';
import { findIssue } from './find-issue.ts';
import { issueUpdated } from './present.ts';
import { enqueueSettling } from './parking.ts';
import { restoreIssue } from './restore-issue.ts';
import { type IssueRow, notTrashed, rowVersion, selectIssues, shownIssue } from './rows.ts';
import { type Later, updateIssue } from './update-issue.ts';

const { issue_labels, labels } = schema;

/**
 * Applies many changes atomically. Properties go through `updateIssue` one issue at a time, because each may release a
 * checkout or unblock others; there are never more than a hundred. Whom they wake is woken by one statement, and what their end settles is
 * enqueued by one.
 * @throws invalid for an issue that is unknown or named twice, and whatever the individual changes throw
 */
export async function changeIssues(
  tx: Tx,
  actor: Actor,
  company_id: string,
  changes: readonly IssueChange[],
): Promise<ChangedIssues> {
  const ids = changes.map(({ issue_id }) => issue_id);
  if (new Set(ids).size < ids.length) throw invalid('changes: an issue is listed twice');
  const back = ids.filter((_, place) => changes[place]!.deleted === false);
  // Before their issues, as in a restore from the trash.
  for (const entity_id of back.toSorted()) await lockEntry(tx, company_id, entity_id);
  await lockAll(tx, company_id, ids);
  const later: Later = { wakeups: [], settling: [] };
  for (const issue_id of back) await bringBack(tx, actor, issue_id, later);
  const rows = await selectIssues(
    tx,
    sql`select ${shownIssue}, ${rowVersion('i')} as row_version from issues i
        where i.company_id = ${company_id} and i.id = any(${sql.param(ids)}::uuid[]) and ${notTrashed('i')}`,
  );
  const known = new Map(rows.map((row) => [row.id, row]));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw invalid(said`changes: unknown issue ${unknown}`);
  const undo = new Map<string, IssueChange>(back.map((issue_id) => [issue_id, { issue_id, deleted: true }]));
  const undoes = (issue_id: string, part: Partial<IssueChange>): void => {
    undo.set(issue_id, { issue_id, ...undo.get(issue_id), ...part });
  };
  await changeLabels(tx, actor, changes, known, undoes);
  for (const { issue_id, set = {}, deleted } of changes) {
    const issue = known.get(issue_id)!;
    const before = whatDiffers(issue, set);
    if (before !== undefined) {
      await updateIssue(tx, actor, issue, set, later);
      undoes(issue_id, { set: before });
    }
    if (deleted === true) {
      await deleteIssue(tx, actor, issue, later);
      undoes(issue_id, { deleted: false });
    }
  }
  await requestWakeups(tx, actor, later.wakeups);
  if (later.settling.length > 0) await enqueueSettling(tx, later.settling);
  return { changed: undo.size, undo: [...undo.values()] };
}

/**
 * Locks the issues and everything that may be waiting for them, in id order: two concurrent changes of overlapping sets take
 * turns instead of deadlocking.
 */
async function lockAll(tx: Tx, company_id: string, ids: readonly string[]): Promise<void> {
  const named = sql`any(${sql.param(ids)}::uuid[])`;
  await tx.execute(sql`
    select from issues i where i.company_id = ${company_id} and i.id = any(array(
      select unnest(${sql.param(ids)}::uuid[])
      union select p.parent_issue_id from issues p where p.id = ${named}
      union select r.target_issue_id from issue_relations r where r.source_issue_id = ${named}
      union select r.source_issue_id from issue_relations r where r.target_issue_id = ${named}
    )) order by i.id for no key update of i`);
}

/** The old values of the properties that are about to change. */
function whatDiffers(issue: IssueRow, set: NonNullable<IssueChange['set']>): IssueChange['set'] | undefined {
  const names = Object.keys(set) as (keyof typeof set)[];
  const differing = names.filter((name) => set[name] !== undefined && set[name] !== issue[name]);
  if (differing.length === 0) return undefined;
  return Object.fromEntries(differing.map((name) => [name, issue[name]]));
}

async function lockEntry(tx: Tx, company_id: string, entity_id: string): Promise<void> {
  const entry = await lockTrashed(tx, { type: 'issue', entity_id, company_id });
  if (entry === undefined) throw invalid(said`changes: issue ${entity_id} is not in the trash`);
}

async function bringBack(tx: Tx, actor: Actor, entity_id: string, later: Later): Promise<void> {
  await restoreIssue(tx, actor, entity_id, later);
  if (!(await findIssue(tx, entity_id))) throw conflict('its parent is in the trash');
  await purgeOldTrash(tx, [entity_id]);
}

interface Pair {
  issue_id: string;
  label_id: string;
}

const pairsOf = (changes: readonly IssueChange[], field: 'add_label_ids' | 'remove_label_ids'): Pair[] =>
  changes.flatMap((change) =>
    (change[field] ?? []).map((label_id) => ({ issue_id: change.issue_id, label_id })),
  );

/** Changes all labels of all issues in two statements. @throws invalid for a label of another company */
async function changeLabels(
  tx: Tx,
  actor: Actor,
  changes: readonly IssueChange[],
  known: ReadonlyMap<string, IssueRow>,
  undoes: (issue_id: string, part: Partial<IssueChange>) => void,
): Promise<void> {
  const [adding, removing] = [pairsOf(changes, 'add_label_ids'), pairsOf(changes, 'remove_label_ids')];
  const wanted = [...adding, ...removing];
  const company_id = known.values().next().value?.company_id;
  if (wanted.length === 0 || company_id === undefined) return;
  const ids = [...new Set(wanted.map(({ label_id }) => label_id))];
  const found = await tx
    .select({ id: labels.id, name: labels.name })
    .from(labels)
    .where(and(eq(labels.company_id, company_id), inArray(labels.id, ids)))
    // Whoever deletes one takes it off its issues in an order of their own, after this.
    .orderBy(labels.id)
    .for('key share');
  const names = new Map(found.map(({ id, name }) => [id, name]));
  const unknown = ids.find((id) => !names.has(id));
  if (unknown !== undefined) throw invalid(said`changes: unknown label ${unknown}`);
  const added =
    adding.length === 0 ? [] : await tx.insert(issue_labels).values(adding).onConflictDoNothing().returning();
  const removed = await removePairs(tx, removing);
  const changesOf = (pairs: readonly Pair[], action: string): Change[] =>
    pairs.map(({ issue_id, label_id }) =>
      issueUpdated(known.get(issue_id)!, action, { label_id, name: names.get(label_id) }),
    );
  await recordChanges(tx, actor, [
    ...changesOf(added, 'issue.label_added'),
    ...changesOf(removed, 'issue.label_removed'),
  ]);
  for (const [issue_id, pairs] of byIssue(added))
    undoes(issue_id, { remove_label_ids: pairs.map(({ label_id }) => label_id) });
  for (const [issue_id, pairs] of byIssue(removed))
    undoes(issue_id, { add_label_ids: pairs.map(({ label_id }) => label_id) });
}

const byIssue = (pairs: readonly Pair[]): Map<string, Pair[]> =>
  Map.groupBy(pairs, ({ issue_id }) => issue_id);

async function removePairs(tx: Tx, pairs: readonly Pair[]): Promise<Pair[]> {
  if (pairs.length === 0) return [];
  const { rows } = await tx.execute<{ issue_id: string; label_id: string }>(sql`
    delete from issue_labels using unnest(
      ${sql.param(pairs.map(({ issue_id }) => issue_id))}::uuid[],
      ${sql.param(pairs.map(({ label_id }) => label_id))}::uuid[]) as gone(issue_id, label_id)
    where issue_labels.issue_id = gone.issue_id and issue_labels.label_id = gone.label_id
    returning issue_labels.issue_id, issue_labels.label_id`);
  return rows;
}
