import { rowsOf, schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

const { comments } = schema;

export interface NewComment {
  id: string;
  issue_id: string;
  author_agent_id: string | null;
  /** Name of an author who does not exist here. */
  author_label: string | null;
  body_markdown: string;
  is_pinned: boolean;
  created_at: string;
}

/** Inserts a list for an import: mentions and wakes no one. */
export async function insertComments(tx: Tx, company_id: string, rows: readonly NewComment[]): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.map((row) => ({ ...row, company_id }));
  await tx.execute(sql`insert into comments ${rowsOf(comments, values)}`);
}
