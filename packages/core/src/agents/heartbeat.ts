import { type Tx, schema, wakeableAgentStatuses } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';

const { agents } = schema;

/** Spread of first beats beyond the interval, as a fraction of it: fleets enabled together drift apart. */
const JITTER = 0.25;

/** The first beat after enabling: never before the interval has elapsed (specification, rule 1). */
export function firstHeartbeatAt(interval_sec: SQL | number): SQL {
  return sql`now() + make_interval(secs => ${interval_sec} * (1 + ${JITTER}::float8 * random()))`;
}

interface DueHeartbeat {
  agent_id: string;
  company_id: string;
}

/**
 * Returns agents whose heartbeat is due, most overdue first, and schedules their next beat in the same statement. A beat keeps
 * its phase; one that is more than an interval late (after downtime) starts a new phase with jitter. Agents that may not be woken
 * and those of trashed companies are rescheduled but not returned: the index `agents_beat` contains them, too. Rows locked by
 * another scheduler are skipped.
 */
export async function dueHeartbeats(tx: Tx, limit: number): Promise<DueHeartbeat[]> {
  const { rows } = await tx.execute<{ id: string; company_id: string }>(dueHeartbeatsStatement(limit));
  return rows.map((row) => ({ agent_id: row.id, company_id: row.company_id }));
}

export function dueHeartbeatsStatement(limit: number): SQL {
  return sql`
    with due as materialized (
      select id from agents
      where next_heartbeat_at is not null and deleted_at is null and next_heartbeat_at <= now()
      order by next_heartbeat_at limit ${limit}
      for no key update skip locked
    ), beaten as (
      update agents set next_heartbeat_at = case
          when agents.next_heartbeat_at + make_interval(secs => agents.heartbeat_interval_sec) > now()
          then agents.next_heartbeat_at + make_interval(secs => agents.heartbeat_interval_sec)
          else ${firstHeartbeatAt(sql`agents.heartbeat_interval_sec`)} end
      from due where agents.id = due.id
      returning agents.id, agents.company_id, agents.status
    )
    select beaten.id, beaten.company_id from beaten
    join companies on companies.id = beaten.company_id and companies.deleted_at is null
    where beaten.status in ${wakeableAgentStatuses}`;
}

/** The next beat after a change of heartbeat fields; undefined to keep the current one. */
export function rescheduledHeartbeat(
  before: Pick<typeof agents.$inferSelect, 'heartbeat_enabled' | 'heartbeat_interval_sec'>,
  change: { heartbeat_enabled?: boolean; heartbeat_interval_sec?: number },
): SQL | null | undefined {
  const enabled = change.heartbeat_enabled ?? before.heartbeat_enabled;
  const interval = change.heartbeat_interval_sec ?? before.heartbeat_interval_sec;
  if (enabled === before.heartbeat_enabled && interval === before.heartbeat_interval_sec) return undefined;
  return enabled ? firstHeartbeatAt(interval) : null;
}
