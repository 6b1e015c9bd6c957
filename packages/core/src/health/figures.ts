import { WORKER_OFFLINE_SEC } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/** Counts of what is waiting and in progress in the whole instance. */
export interface InstanceFigures {
  runs_queued: number;
  runs_running: number;
  oldest_queued_run_sec: number;
  tasks_queued: number;
  tasks_claimed: number;
  workers_online: number;
  messages_pending: number;
  webhook_deliveries_pending: number;
  alerts_warning: number;
  alerts_error: number;
  /** Those of the errors that are used up budgets of companies: nothing of the instance is broken. */
  alerts_budget: number;
  schedulers: number;
  companies: number;
  /** Null: never. */
  license_ends_in_sec: number | null;
}

/** One statement of counts over partial indexes, which exclude everything finished. */
export async function readFigures(tx: Tx): Promise<InstanceFigures> {
  const { rows } = await tx.execute<{ [K in keyof InstanceFigures]: InstanceFigures[K] }>(sql`
    select
      (select count(*)::int from heartbeat_runs where status = 'queued') as runs_queued,
      (select count(*)::int from heartbeat_runs where status = 'running') as runs_running,
      coalesce((select extract(epoch from now() - min(created_at)) from heartbeat_runs where status = 'queued'), 0)::float8
        as oldest_queued_run_sec,
      (select count(*)::int from remote_tasks where status = 'queued') as tasks_queued,
      (select count(*)::int from remote_tasks where status in ('claimed', 'cancel_requested')) as tasks_claimed,
      (select count(*)::int from workers where status in ('approved', 'draining')
        and last_seen_at > now() - make_interval(secs => ${WORKER_OFFLINE_SEC})) as workers_online,
      (select count(*)::int from outgoing_messages where next_attempt_at is not null) as messages_pending,
      (select count(*)::int from webhook_deliveries where status = 'pending') as webhook_deliveries_pending,
      (select count(*)::int from alerts where status = 'firing' and level = 'warning') as alerts_warning,
      (select count(*)::int from alerts where status = 'firing' and level = 'error') as alerts_error,
      (select count(*)::int from alerts where status = 'firing' and level = 'error' and kind = 'budget') as alerts_budget,
      (select count(*)::int from scheduler_processes where updated_at > now() - interval '1 minute') as schedulers,
      (select count(*)::int from companies where deleted_at is null) as companies,
      (select extract(epoch from nullif((value ->> 'until')::timestamptz, 'infinity') - now())::float8
        from instance_settings where key = 'entitlement') as license_ends_in_sec`);
  return rows[0]!;
}
