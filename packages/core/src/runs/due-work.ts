import { openTaskStatuses, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { rolloverDue } from '../budgets/index.ts';

export interface DueWork {
  /** `startDueHeartbeats` would find an agent. */
  heartbeats: boolean;
  /** `sweepLostRun` would find a run. */
  lost_runs: boolean;
  /** `rollOverBudgets` would find an incident of an expired window. */
  budget_windows: boolean;
  /** `endDueTask` would find a remote task. */
  remote_tasks: boolean;
  /** `releaseMissingTasks` would find a claim. */
  missing_tasks: boolean;
  /** `fireDueSchedule` would find a trigger. */
  schedules: boolean;
  /** Webhooks have events to process or an attempt that is due. */
  webhooks: boolean;
  /** There are plugins to run; their hosts check for themselves. */
  plugins: boolean;
  /** `claimMcpServers` would find an external server. */
  mcp_servers: boolean;
  /** `claimDuePeers` would find a peer, or `claimDelegations` a delegation. */
  peers: boolean;
  /** `indexNextSource` would find a source that has changed, or `claimEmbedding` a company. */
  knowledge: boolean;
  /** `claimMessages` would find a message. */
  messages: boolean;
  /** An enabled channel has no owner, or there are events that it may have to report. */
  channels: boolean;
  /** Events without a number yet: usually in flight, otherwise left behind by a process that died. */
  events: boolean;
  /** Milliseconds until the next known due time; null if there is none. */
  next_in_ms: number | null;
}

/** How long a worker's heartbeats may omit a task that it has claimed (decisions 7.25). */
export const MISSING_TASK_SEC = 60;

const nothing: DueWork = {
  heartbeats: false,
  lost_runs: false,
  budget_windows: false,
  remote_tasks: false,
  missing_tasks: false,
  schedules: false,
  webhooks: false,
  plugins: false,
  mcp_servers: false,
  peers: false,
  knowledge: false,
  messages: false,
  channels: false,
  events: false,
  next_in_ms: null,
};

const midnight = sql`date_trunc('day', now(), 'UTC') + interval '1 day'`;

/** The next due time of each kind; budget windows end at midnight. */
const nextMoment = sql`least(
  (select min(next_heartbeat_at) from agents where next_heartbeat_at is not null and deleted_at is null
    and next_heartbeat_at > now()),
  (select min(lease_expires_at) from heartbeat_runs where status = 'running' and lease_expires_at >= now()),
  (select case when exists (select from budget_incidents where status = 'open') then ${midnight} end),
  (select min(deadline) from remote_tasks where status in ${openTaskStatuses}
    and deadline >= now()),
  (select min(missing_since) from remote_tasks where missing_since is not null and status = 'claimed'
    and missing_since >= now() - make_interval(secs => ${MISSING_TASK_SEC})) + make_interval(secs => ${MISSING_TASK_SEC}),
  (select min(next_fire_at) from routine_triggers where enabled and next_fire_at is not null and next_fire_at > now()),
  (select min(greatest(next_attempt_at, lease_until)) from webhooks where enabled and next_attempt_at is not null
    and (next_attempt_at > now() or lease_until >= now())),
  (select min(next_refresh_at) from mcp_servers where next_refresh_at is not null and next_refresh_at > now()),
  (select min(next_refresh_at) from a2a_peers where enabled and next_refresh_at > now()),
  (select min(next_attempt_at) from a2a_delegations where next_attempt_at is not null and next_attempt_at > now()),
  (select min(next_attempt_at) from knowledge_embeddings where wanted_at is not null and next_attempt_at > now()),
  (select min(lease_until) from channels where enabled and lease_until > now()),
  (select min(next_attempt_at) from outgoing_messages where next_attempt_at is not null and next_attempt_at > now()))`;

// PostgreSQL takes nearly all sources for changed and would read them all to find none, unless it is asked for the first of the
// index of those that are: `exists` would drop the order.
const hasStaleSource = sql`coalesce((select true from knowledge_sources where chunked_revision <> revision
  order by company_id, changed_at, id limit 1), false)`;

/**
 * What is due by the database's clock, and when something will be: the only statement that a scheduler sends for this, at
 * most once per second. It uses partial index look-ups however many agents and runs there are (statuses are spelled exactly
 * as in the index).
 */
export async function dueWork(tx: Tx): Promise<DueWork> {
  const { rows } = await tx.execute<{ [K in keyof DueWork]: DueWork[K] }>(sql`
    select
      exists (select from agents where next_heartbeat_at is not null and deleted_at is null
        and next_heartbeat_at <= now()) as heartbeats,
      exists (select from heartbeat_runs where status = 'running' and lease_expires_at < now()) as lost_runs,
      ${rolloverDue} as budget_windows,
      exists (select from remote_tasks where status in ${openTaskStatuses} and deadline < now())
        or exists (select from heartbeat_runs r join remote_tasks t on t.heartbeat_run_id = r.id
          where r.status = 'running' and r.lease_expires_at is null and r.cancel_requested_at is not null
            and t.status in ('queued', 'claimed')) as remote_tasks,
      exists (select from remote_tasks where missing_since is not null and status = 'claimed'
        and missing_since < now() - make_interval(secs => ${MISSING_TASK_SEC})) as missing_tasks,
      exists (select from routine_triggers where enabled and next_fire_at is not null and next_fire_at <= now())
        as schedules,
      exists (select from webhooks where enabled and next_attempt_at is not null and next_attempt_at <= now()
          and (lease_until is null or lease_until < now()))
        or exists (select from event_cursors c join event_sequence s on s.last > c.seq where c.consumer = 'webhooks')
        as webhooks,
      exists (select from plugins where wanted) as plugins,
      exists (select from mcp_servers where next_refresh_at is not null and next_refresh_at <= now()) as mcp_servers,
      exists (select from a2a_peers where enabled and next_refresh_at <= now())
        or exists (select from a2a_delegations where next_attempt_at is not null and next_attempt_at <= now()) as peers,
      ${hasStaleSource}
        or exists (select from knowledge_embeddings where wanted_at is not null and next_attempt_at <= now()) as knowledge,
      exists (select from outgoing_messages where next_attempt_at is not null and next_attempt_at <= now()) as messages,
      exists (select from channels where enabled and lease_until <= now())
        or exists (select from event_cursors c join event_sequence s on s.last > c.seq where c.consumer = 'channels') as channels,
      exists (select from outbox order by id limit 1) as events,
      (extract(epoch from ${nextMoment} - now()) * 1000)::float8 as next_in_ms`);
  return rows[0] ?? nothing;
}
