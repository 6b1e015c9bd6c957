import type { ActivityEntry, ListActivity } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { and, eq } from 'drizzle-orm';

const { activity } = schema;

/** What was done in the company, newest first, 50 a page. */
export async function listActivity(
  tx: Tx,
  company_id: string,
  query: ListActivity,
): Promise<Page<ActivityEntry>> {
  const page = newestFirst(activity.created_at, activity.id, query, 50);
  const rows = tx
    .select()
    .from(activity)
    .where(
      and(
        eq(activity.company_id, company_id),
        query.entity_type === undefined ? undefined : eq(activity.entity_type, query.entity_type),
        query.entity_id === undefined ? undefined : eq(activity.entity_id, query.entity_id),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, ({ created_at, id }) => ({ at: created_at, id }), present);
}

/** What was done to one issue. */
export async function issueActivity(
  tx: Tx,
  issue: { id: string; company_id: string },
  query: PageRequest,
): Promise<Page<ActivityEntry>> {
  return listActivity(tx, issue.company_id, { ...query, entity_type: 'issue', entity_id: issue.id });
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
