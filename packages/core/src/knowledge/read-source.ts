/** Reads the current text of a source as Markdown. */
import type { Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { LONGEST_SOURCE } from './chunk-markdown.ts';

interface SourceText {
  title: string;
  text: string;
}

export type SourceType = 'note' | 'document' | 'attachment' | 'issue' | 'agent_file';

/** One character more than the limit shows that there is more. */
const MOST = LONGEST_SOURCE + 1;

// Parts of a closed issue: its description, its reports, its last comments. In characters and rows.
const ISSUE_BODY = 4000;
const REPORT = 20_000;
const REPORTS = 3;
const SAID = 8000;
const LAST_WORDS = 2;

const readers: Record<SourceType, (id: string) => SQL> = {
  note: (id) => sql`select title, left(body_markdown, ${MOST}) as text from notes where id = ${id}`,
  document: (id) => sql`
    select d.title, left(r.body, ${MOST}) as text from documents d
    join document_revisions r on r.id = d.latest_revision_id where d.id = ${id}`,
  attachment: (id) => sql`
    select f.filename as title, left(t.extracted_text, ${MOST}) as text
    from attachments f join attachment_texts t on t.attachment_id = f.id where f.id = ${id} and t.status = 'done'`,
  agent_file: (id) => sql`
    select a.name || ': ' || f.path as title, left(t.extracted_text, ${MOST}) as text
    from agent_files f join agent_file_texts t on t.file_id = f.id join agents a on a.id = f.agent_id
    where f.id = ${id} and t.status = 'done' and a.deleted_at is null`,
  issue: (id) => sql`
    select i.identifier || ': ' || i.title as title, concat_ws(E'\n\n',
      left(i.body_markdown, ${ISSUE_BODY}),
      (select string_agg('## ' || title || E'\n\n' || left(summary, ${REPORT}), E'\n\n' order by created_at, id)
        from (select * from work_products where issue_id = i.id and type = 'report' and summary <> ''
          order by created_at desc, id desc limit ${REPORTS}) report),
      (select '## ' || case i.status when 'done' then 'Outcome' else 'Cancelled' end || E'\n\n'
          || string_agg(left(body_markdown, ${SAID}), E'\n\n' order by created_at, id)
        from (select * from comments where issue_id = i.id order by created_at desc, id desc limit ${LAST_WORDS}) said)) as text
    from issues i where i.id = ${id} and i.status in ('done', 'cancelled')`,
};

/** Undefined if the source has no text (any more). */
export async function readSource(tx: Tx, type: SourceType, id: string): Promise<SourceText | undefined> {
  const { rows } = await tx.execute<{ title: string; text: string | null }>(readers[type](id));
  const [row] = rows;
  return row && { title: row.title, text: row.text ?? '' };
}
