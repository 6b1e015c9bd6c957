import { sharesModel, type WantedModel, type WorkerActor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/** Queued tasks of which a worker may take either all or none: of one company, with the same tags and model. */
export interface QueuedRoute {
  route: string;
  company_id: string;
  tags_required: readonly string[];
  wants: WantedModel;
  /** Number of the company's tasks that workers are working on. */
  claimed: number;
  /** Number of waiting tasks of the route, counted up to a limit. */
  waiting: number;
  /** The limit was reached: more may be waiting. */
  more: boolean;
}

interface RouteRow extends Record<string, unknown> {
  route: string;
  company_id: string;
  tags_required: string[];
  model_providers: string[];
  model: string | null;
  claimed: number;
  waiting: number;
}

const MAX_ROUTES = 1000;
const MAX_COUNTED = 256;

/**
 * The tasks waiting for the fleet, in the order in which to hand them out: companies with the fewest claimed tasks first, then
 * the oldest. For each route only as much of the index is read as is counted, however many tasks are waiting.
 */
export async function queuedRoutes(tx: Tx): Promise<QueuedRoute[]> {
  const { rows } = await tx.execute<RouteRow>(sql`
    with recursive head as (
      (select t.route, t.id from remote_tasks t where t.status = 'queued' order by t.route, t.created_at, t.id limit 1)
      union all
      select next.route, next.id from head cross join lateral (
        select t.route, t.id from remote_tasks t where t.status = 'queued' and t.route > head.route
        order by t.route, t.created_at, t.id limit 1
      ) next
    ), known as (select id from head limit ${MAX_ROUTES}), busy as (
      select company_id, count(*)::int as claimed from remote_tasks
      where status in ('claimed', 'cancel_requested') group by company_id
    )
    select t.route, t.company_id, t.tags_required, t.model_providers, t.model, coalesce(busy.claimed, 0) as claimed,
      (select count(*)::int from (
        select from remote_tasks q where q.status = 'queued' and q.route = t.route limit ${MAX_COUNTED}
      ) counted) as waiting
    from known join remote_tasks t on t.id = known.id left join busy on busy.company_id = t.company_id
    order by claimed, t.created_at, t.id`);
  return rows.map(({ model_providers, model, ...row }) => ({
    ...row,
    more: row.waiting === MAX_COUNTED,
    wants: { providers: model_providers, model },
  }));
}

/** @param narrowed tags that the worker names for one claim: they never add any (specification, Claim and tag rules 2) */
export function mayTake(
  { tags, shared_models }: Pick<WorkerActor, 'tags' | 'shared_models'>,
  { tags_required, wants }: QueuedRoute,
  narrowed?: readonly string[],
): boolean {
  const has = (tag: string) => tags.includes(tag) && (narrowed === undefined || narrowed.includes(tag));
  return tags_required.every(has) && sharesModel(shared_models, wants);
}
