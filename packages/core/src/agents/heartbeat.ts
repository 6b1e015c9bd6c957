import { type Tx, schema, wakeableAgentStatuses } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';

const { agents } = schema;

/** How far first beats are spread beyond the interval, as a share of it: fleets switched on together drift apart. */
const JITTER = 0.25;

/** The first beat after switching on: never before the interval has elapsed (specification, rule 1). */
export function firstHeartbeatAt(interval_sec: SQL | number): SQL {
  return sql`now() + make_interval(secs => ${interval_sec} * (1 + ${JITTER}::float8 * random()))`;
}

export interface DueHeartbeat {
  agent_id: string;
  company_id: string;
}

/**
 * The agents whose heartbeat is due, most overdue first, and in the same statement their next beat. A beat keeps its
 * phase; one that comes more than an interval late (after downtime) starts a new phase with jitter. Agents of trashed
 * companies are moved on and left out. Rows that another scheduler holds are skipped.
 *
 * The statuses stand as literals, word for word as in the partial index `agents_next_heartbeat`: only so does the
 * planner know that the index answers, whatever the number of agents.
 */
export async function dueHeartbeats(tx: Tx, limit: number): Promise<DueHeartbeat[]> {
  const { rows } = await tx.execute<{ id: string; company_id: string }>(dueHeartbeatsStatement(limit));
  return rows.map((row) => ({ agent_id: row.id, company_id: row.company_id }));
}

export function dueHeartbeatsStatement(limit: number): SQL {
  return sql`
    with due as materialized (
      select id from agents
      where next_heartbeat_at is not null and deleted_at is null
        and status in ${wakeableAgentStatuses} and next_heartbeat_at <= now()
      order by next_heartbeat_at limit ${limit}
      for no key update skip locked
    ), beaten as (
      update agents set next_heartbeat_at = case
          when agents.next_heartbeat_at + make_interval(secs => agents.heartbeat_interval_sec) > now()
          then agents.next_heartbeat_at + make_interval(secs => agents.heartbeat_interval_sec)
          else ${firstHeartbeatAt(sql`agents.heartbeat_interval_sec`)} end
      from due where agents.id = due.id
      returning agents.id, agents.company_id
    )
    select beaten.id, beaten.company_id from beaten
    join companies on companies.id = beaten.company_id and companies.deleted_at is null`;
}

/** The next beat of an agent whose heartbeat fields change; undefined where it keeps the one it has. */
export function rescheduledHeartbeat(
  before: Pick<typeof agents.$inferSelect, 'heartbeat_enabled' | 'heartbeat_interval_sec'>,
  change: { heartbeat_enabled?: boolean; heartbeat_interval_sec?: number },
): SQL | null | undefined {
  const enabled = change.heartbeat_enabled ?? before.heartbeat_enabled;
  const interval = change.heartbeat_interval_sec ?? before.heartbeat_interval_sec;
  if (enabled === before.heartbeat_enabled && interval === before.heartbeat_interval_sec) return undefined;
  return enabled ? firstHeartbeatAt(interval) : null;
}
