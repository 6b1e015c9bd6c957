/** The effects of a run on its issue (decisions 7.13, 8.2). These return changes instead of recording them, so that the
 * claim and the end of a run write all their activity in one statement. */
import { fixedForms, type Tx } from '@acp/db';
import { cutText } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { MAX_STALLED_RUNS, wakeupsConsumed } from '../wakeups/index.ts';
import { stalledNotice } from './notices.ts';
import { issueUpdated } from './present.ts';
import { type IssueRow, notTrashed, selectIssues, toIssueRow } from './rows.ts';

/** In bytes: the run itself has all of its error. */
const LONGEST_TOLD = 500;

interface RunCheckout {
  issue: IssueRow;
  changes: Change[];
}

/** What the end of a run means for its issue. */
interface RunOutcome {
  /** Whether it changed the issue, if the loop breaker counts it. */
  changed?: boolean | undefined;
  /** Why it failed, if nothing follows by itself. */
  error?: string | null | undefined;
}

interface RunOfIssue {
  id: string;
  agent_id: string;
  issue_id: string | null;
  started_at: Date | null;
}

/**
 * Checks out the issues of runs that begin, and marks the runs' wakeups as answered, in one statement. A run gets neither if
 * another agent has checked out its issue, or if the issue is gone.
 * @param runs always the same select of `run_id`, `agent_id` and `issue_id`: each with a different issue, or none
 * @returns the checkouts, by run
 */
export async function checkoutForRuns(tx: Tx, runs: SQL): Promise<Map<string, RunCheckout>> {
  const rows = await checkouts(tx, 'started', {}, () => checkoutStatement(runs));
  return new Map(
    rows.map((raw) => {
      const issue = toIssueRow(raw);
      const run_id = String(raw.taken_by_run_id);
      const changes = raw.held_before === true ? [] : [issueUpdated(issue, 'issue.checked_out', { run_id })];
      return [run_id, { issue, changes }];
    }),
  );
}

// A checkout that an earlier run of the agent left behind is taken over as this run's: only one that the agent took itself
// counts as held before. Each issue is looked up by its id: for as many runs as PostgreSQL expects here, it would rather read all
// issues of the company.
const checkoutStatement = (runs: SQL): SQL => sql`
    with begun as materialized (${runs}
    ), held as (
      select i.id, begun.run_id, begun.agent_id,
        coalesce(i.checked_out_by_agent_id = begun.agent_id and i.checkout_run_id is null, false) as before
      from begun cross join lateral (
        select i.id, i.checked_out_by_agent_id, i.checkout_run_id from issues i
        join companies c on c.id = i.company_id and c.deleted_at is null
        where i.id = begun.issue_id and ${notTrashed('i')}
        for no key update of i
      ) i
    ), taken as (
      update issues i set
        checked_out_by_agent_id = held.agent_id,
        checked_out_at = case when held.before then i.checked_out_at else now() end,
        checkout_run_id = case when held.before then null else held.run_id end,
        run_failed = false
      from held
      where i.id = any (array(select id from held)) and i.id = held.id
        and coalesce(i.checked_out_by_agent_id, held.agent_id) = held.agent_id
      returning i.*, held.before as held_before, held.run_id as taken_by_run_id
    ), answered as (
      ${wakeupsConsumed(sql`select taken_by_run_id from taken union all select run_id from begun where issue_id is null`)}
    )
    select * from taken`;

const checkouts = fixedForms([]);

/**
 * Releases the checkout at the end of a run, however it ends, unless it is the agent's own and older than the run; one that
 * was released and taken again in the meantime is released, too. Also counts the run for the loop breaker: one that changed
 * the issue resets the count.
 * @param alongside relations that the same statement writes
 */
export async function releaseAfterRun(
  tx: Tx,
  run: RunOfIssue,
  { changed, error }: RunOutcome = {},
  alongside: SQL | null = null,
): Promise<Change[]> {
  if (run.issue_id === null) return [];
  // A checkout taken by the run has its id; one that the agent took itself before, and still has, is older than the run.
  const own = sql`(i.checkout_run_id is null and coalesce(i.checked_out_at, '-infinity') < ${run.started_at?.toISOString() ?? null}::timestamptz)`;
  const release = sql`(not coalesce(${own}, false) and i.checked_out_by_agent_id is not distinct from ${run.agent_id}::uuid)`;
  const [issue] = await selectIssues(
    tx,
    sql`${alongside === null ? sql`` : sql`with ${alongside}`} update issues i set
          checked_out_by_agent_id = case when ${release} then null else i.checked_out_by_agent_id end,
          checked_out_at = case when ${release} then null else i.checked_out_at end,
          checkout_run_id = case when ${release} then null else i.checkout_run_id end,
          self_checkout_agent_id = case when ${release} then null else i.self_checkout_agent_id end,
          run_failed = i.run_failed or ${typeof error === 'string'}::boolean, ${countRun(changed)}
        where i.id = ${run.issue_id}
        returning i.*`,
  );
  if (!issue || issue.deleted_at !== null) return [];
  const ended =
    typeof error === 'string'
      ? issueUpdated(issue, 'issue.run_failed', { run_id: run.id, error: cutText(error, LONGEST_TOLD) })
      : issueUpdated(issue, undefined);
  // A run that changed nothing may be the one that triggers the loop breaker.
  return [ended, ...(changed === false ? stalledNotice(issue) : [])];
}

function countRun(changed: boolean | undefined) {
  if (changed === undefined) return sql`stalled_runs = i.stalled_runs`;
  if (changed) return sql`stalled_runs = 0`;
  return sql`stalled_runs = i.stalled_runs + 1,
    needs_human_attention = i.needs_human_attention or i.stalled_runs + 1 >= ${MAX_STALLED_RUNS}`;
}
