import { type QueueStats, WORKER_OFFLINE_SEC } from '@acp/contract';
import { openTaskStatuses, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

const MAX_TAGS = 200;

/** One statement. Tags are those of queued tasks, most wanted first, at most 200. */
export async function queueStats(tx: Tx): Promise<QueueStats> {
  const { rows } = await tx.execute<{ stats: QueueStats }>(sql`
    with task as (
      select status, tags_required, created_at from remote_tasks where status in ${openTaskStatuses}
    ), recent as (
      select count(*) filter (where status = 'completed') as completed, count(*) filter (where status = 'failed') as failed
      from remote_tasks where completed_at > now() - interval '24 hours'
    ), worker as (
      select status, coalesce(last_seen_at > now() - make_interval(secs => ${WORKER_OFFLINE_SEC}), false) as online from workers
    ), wanted as (
      select tag, count(*)::int as queued from task cross join lateral jsonb_array_elements_text(tags_required) as tag
      where status = 'queued' group by tag order by queued desc, tag limit ${MAX_TAGS}
    )
    select jsonb_build_object(
      'queued', (select count(*) from task where status = 'queued'),
      'claimed', (select count(*) from task where status <> 'queued'),
      'completed_24h', (select completed from recent),
      'failed_24h', (select failed from recent),
      'oldest_queued_sec', (select greatest(0, round(extract(epoch from now() - min(created_at)))) from task where status = 'queued'),
      'workers', (select jsonb_build_object(
        'online', count(*) filter (where status = 'approved' and online),
        'offline', count(*) filter (where status = 'approved' and not online),
        'draining', count(*) filter (where status = 'draining'),
        'disabled', count(*) filter (where status = 'disabled'),
        'pending_approval', count(*) filter (where status = 'pending_approval')) from worker),
      'by_tag', coalesce((select jsonb_agg(jsonb_build_object('tag', tag, 'queued', queued) order by queued desc, tag)
        from wanted), '[]')) as stats`);
  return rows[0]!.stats;
}
