import type { Attachment } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { and, eq, getTableColumns, isNull, sql } from 'drizzle-orm';
import { type IssueRow, notTrashed } from '../issues/index.ts';

const { attachments, companies } = schema;

/** A file attached to an issue. */
export type AttachmentRow = typeof attachments.$inferSelect & { issue_id: string };

export function presentAttachment(row: AttachmentRow): Attachment {
  return {
    id: row.id,
    company_id: row.company_id,
    issue_id: row.issue_id,
    filename: row.filename,
    content_type: row.content_type,
    size_bytes: row.size_bytes,
    storage_key: row.storage_key,
    created_by_agent_id: row.created_by_agent_id,
    created_by_user_id: row.created_by_user_id,
    created_at: row.created_at,
  };
}

/** Newest first; at most 1,000 or 4 MB unless a limit is given. Throws `invalid` for a bad cursor. */
export async function listAttachments(
  tx: Tx,
  issue: IssueRow,
  query: PageRequest,
): Promise<Page<Attachment>> {
  const page = newestFirst(attachments.created_at, attachments.id, query, null, 'oldest first');
  const rows = tx
    .select()
    .from(attachments)
    .where(and(eq(attachments.issue_id, issue.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(
    tx,
    rows,
    (row) => ({ at: row.created_at, id: row.id }),
    (row) => presentAttachment({ ...row, issue_id: issue.id }),
  );
}

/** Undefined if absent, attached to a chat, or if its issue or an ancestor of that is in the trash. */
export async function findAttachment(tx: Tx, id: string): Promise<AttachmentRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(getTableColumns(attachments))
    .from(attachments)
    .innerJoin(companies, eq(companies.id, attachments.company_id))
    .where(
      and(
        eq(attachments.id, id),
        isNull(companies.deleted_at),
        sql`exists (select from issues i where i.id = ${attachments.issue_id} and ${notTrashed('i')})`,
      ),
    );
  return row && { ...row, issue_id: row.issue_id! };
}
