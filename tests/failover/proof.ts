/** Invariants of the data once a load and its work are over, whatever happened to the processes. */
import { waitFor } from '@acp/testkit';
import { askNode } from './cluster.ts';

/** SQL: the ids of `all` that do not occur exactly once among `told`. One pass over each: there may be ten thousand events. */
const notOnce = (all: string, told: string): string =>
  `select a.id from (${all}) a left join (select id, count(*) as times from (${told}) t group by id) e
    on e.id = a.id::text where e.times is distinct from 1`;

/** Violations of the invariants, queried from the remaining server. */
export async function faultsOf(url: string, issues: readonly string[], comments: readonly string[]) {
  const list = (ids: readonly string[]) => `select unnest('{${ids.join(',')}}'::uuid[]) as id`;
  const questions = {
    lost_issues: `select id from (${list(issues)}) a where not exists (select from issues i where i.id = a.id)`,
    lost_comments: `select id from (${list(comments)}) a where not exists (select from comments c where c.id = a.id)`,
    entries: notOnce(
      list(issues),
      `select entity_id::text as id from activity where action = 'issue.created'`,
    ),
    events: notOnce(list(issues), `select data->>'id' as id from events where type = 'issue_created'`),
    gaps: `select seq from (select seq, lag(seq) over (order by seq) as before from events) e where seq <> before + 1`,
    // Done once, and reported by the one run that finished: a lost run either did it or left nothing behind.
    doubled: `select i.identifier, i.status, r.*, c.comments from issues i
      cross join lateral (
        select count(*) filter (where status = 'succeeded') as succeeded,
          count(*) filter (where status = 'failed' and error not like 'run lost:%') as failed,
          (select count(*) from run_actions d join heartbeat_runs h on h.id = d.run_id
            where h.issue_id = i.id and d.ok and d.mutating) as verbs
        from heartbeat_runs where issue_id = i.id) r
      cross join lateral (
        select count(*) as comments from comments where issue_id = i.id and author_agent_id is not null) c
      where i.assignee_agent_id is not null
        and (i.status <> 'done' or r.failed > 0 or r.succeeded > 1 or r.verbs <> 1 or c.comments <> r.succeeded)`,
    ends: notOnce(
      'select id from heartbeat_runs',
      `select data->>'id' as id from events where type = 'heartbeat_completed'`,
    ),
  };
  const answers = Object.entries(questions).map(
    async ([name, text]) => [name, await askNode(url, text)] as const,
  );
  return Object.fromEntries((await Promise.all(answers)).filter(([, rows]) => rows.length > 0));
}

/** What became of the issues that wait. */
const UNDONE = `select i.identifier, i.status, i.checked_out_by_agent_id is not null as held, a.status as agent,
    (select jsonb_agg(jsonb_build_array(r.status, r.error, r.wake_reason, r.created_at, r.finished_at) order by r.created_at)
      from heartbeat_runs r where r.issue_id = i.id) as runs,
    (select jsonb_agg(jsonb_build_array(w.status, w.reason, w.created_at)) from wakeup_requests w where w.issue_id = i.id) as wakeups
  from issues i join agents a on a.id = i.assignee_agent_id where i.status <> 'done'`;

/** Waits until no work is left. */
export async function restOf(url: string): Promise<void> {
  const open = `select count(*)::int as n from heartbeat_runs where status in ('queued', 'running')`;
  const waiting = `select count(*)::int as n from issues where assignee_agent_id is not null and status <> 'done'`;
  const outbox = `select count(*)::int as n from outbox`;
  let left: number[] = [];
  const isDone = async () => {
    const counts = await Promise.all(
      [open, waiting, outbox].map(async (text) => askNode<{ n: number }>(url, text)),
    );
    left = counts.map(([row]) => row?.n ?? -1);
    return left.every((n) => n === 0);
  };
  await waitFor(isDone, { timeout_ms: 90_000, interval_ms: 500, what: 'all work being done' }).catch(
    async (cause: unknown) => {
      const why = JSON.stringify(await askNode(url, UNDONE));
      throw new Error(`open runs, waiting issues, unsent events: ${left.join(', ')}: ${why}`, { cause });
    },
  );
}
