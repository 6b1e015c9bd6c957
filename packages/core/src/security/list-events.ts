import type { SecurityEvent, SecurityEventFilter, SecurityEventKind } from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { and, eq, gte, lt } from 'drizzle-orm';

const { security_events } = schema;

/** Newest first, 50 per page. @param company_id null: the whole instance */
export async function listSecurityEvents(
  tx: Tx,
  company_id: string | null,
  query: SecurityEventFilter & PageRequest,
): Promise<Page<SecurityEvent>> {
  const page = newestFirst(security_events.created_at, security_events.id, query, 50);
  const { kind, user_id, from, to } = query;
  const rows = await tx
    .select()
    .from(security_events)
    .where(
      and(
        company_id === null ? undefined : eq(security_events.company_id, company_id),
        kind === undefined ? undefined : eq(security_events.kind, kind),
        user_id === undefined ? undefined : eq(security_events.user_id, user_id),
        from === undefined ? undefined : gte(security_events.created_at, new Date(from)),
        to === undefined ? undefined : lt(security_events.created_at, new Date(to)),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, byCreation, present);
}

/** All events, read page by page, so that an export keeps only one page in memory. */
export async function* eachSecurityEvent(
  tx: Tx,
  company_id: string | null,
  filter: SecurityEventFilter,
): AsyncGenerator<readonly SecurityEvent[]> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await listSecurityEvents(tx, company_id, {
      ...filter,
      limit: 200,
      ...(cursor === undefined ? {} : { cursor }),
    });
    if (page.items.length > 0) yield page.items;
    cursor = page.next_cursor;
  }
}

function present(row: typeof security_events.$inferSelect): SecurityEvent {
  return {
    id: row.id,
    kind: row.kind as SecurityEventKind,
    company_id: row.company_id,
    user_id: row.user_id,
    key_id: row.key_id,
    subject: row.subject,
    address: row.address,
    user_agent: row.user_agent,
    details: row.details as Record<string, unknown>,
    created_at: row.created_at,
  };
}
