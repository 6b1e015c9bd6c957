import type { ActivityEntry, ListActivity } from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { and, eq, gte, sql } from 'drizzle-orm';

const { activity } = schema;

/** Nothing happens to an issue before it exists, but clocks may be set back. */
const DAY_MS = 86_400_000;

/**
 * Activity in the company, newest first.
 * @param since lower bound: older partitions are not read
 * @param unasked page size when no limit is given; null: as many as a response may carry
 */
export async function listActivity(
  tx: Tx,
  company_id: string,
  query: ListActivity,
  { since, unasked = 50 }: { since?: Date; unasked?: number | null } = {},
): Promise<Page<ActivityEntry>> {
  const page = newestFirst(activity.created_at, activity.id, query, unasked);
  const rows = tx
    .select()
    .from(activity)
    .where(
      and(
        eq(activity.company_id, company_id),
        query.entity_type === undefined ? undefined : eq(activity.entity_type, query.entity_type),
        query.entity_id === undefined ? undefined : eq(activity.entity_id, query.entity_id),
        since && gte(activity.created_at, since),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, present);
}

/** Activity on one issue. */
export async function issueActivity(
  tx: Tx,
  issue: { id: string; company_id: string; created_at: Date },
  query: PageRequest,
): Promise<Page<ActivityEntry>> {
  const since = new Date(issue.created_at.getTime() - DAY_MS);
  return listActivity(
    tx,
    issue.company_id,
    { ...query, entity_type: 'issue', entity_id: issue.id },
    { since },
  );
}

/** How often it was done in the company within a day, whatever has become of it since. */
export async function countOfDay(
  tx: Tx,
  company_id: string,
  { entity_type, action }: { entity_type: string; action: string },
): Promise<number> {
  return tx.$count(
    activity,
    and(
      eq(activity.company_id, company_id),
      eq(activity.entity_type, entity_type),
      eq(activity.action, action),
      gte(activity.created_at, sql`now() - interval '1 day'`),
    ),
  );
}

function present(row: typeof activity.$inferSelect): ActivityEntry {
  return {
    id: row.id,
    company_id: row.company_id,
    actor_type: row.actor_type as ActivityEntry['actor_type'],
    actor_id: row.actor_id,
    actor_name: row.actor_name,
    action: row.action,
    entity_type: row.entity_type,
    entity_id: row.entity_id,
    details: row.details as Record<string, unknown>,
    created_at: row.created_at,
  };
}
