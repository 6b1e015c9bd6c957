import type { AttachmentText } from '@acp/contract';
import type { Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import type { AttachmentRow } from './read-attachments.ts';

/** A file of an issue or message, as shown to agents. */
export interface PromptAttachment {
  id: string;
  filename: string;
  content_type: string;
  size_bytes: number;
  /** `pending`: extraction is in progress. `none`: there is nothing to extract. */
  text_status: 'pending' | 'done' | 'none' | 'failed';
  /** The first 20,000 characters. */
  text: string | null;
  /** Length of the whole text in characters. */
  text_length: number | null;
  /** Location of an image's bytes, for internal use. */
  storage_key: string | null;
}

const LONGEST_TEXT = 20_000;
const SHOWN = 20;
/** Maximum for all texts together, in characters. */
const ALL_TEXTS = 60_000;

/** SQL: condition that selects files, using the columns of `f`. */
export const filesOfIssue = (issue_id: SQL): SQL => sql`f.issue_id = ${issue_id}`;

/** The same files with their texts limited in total: the newest that fit, the last one cut. */
export function withinBounds(files: readonly PromptAttachment[], characters = ALL_TEXTS): PromptAttachment[] {
  let room = characters;
  const bounded = files.toReversed().map((file) => {
    if (file.text === null) return file;
    const text = file.text.slice(0, room).toWellFormed();
    room -= text.length;
    return { ...file, text };
  });
  return bounded.toReversed();
}

/** Maximum characters per response. */
const PIECE = 100_000;

/** The text of one file, starting at a character offset. */
export async function readAttachmentText(
  tx: Tx,
  { id, issue_id, filename, content_type, size_bytes }: AttachmentRow,
  offset = 0,
): Promise<AttachmentText> {
  const { rows } = await tx.execute<{ status: string; text: string | null; length: number | null }>(sql`
    select case status when 'reading' then 'pending' else status end as status,
      substr(extracted_text, ${offset + 1}::int, ${PIECE}) as text, length(extracted_text) as length
    from attachment_texts where attachment_id = ${id}`);
  const [found] = rows;
  return {
    id,
    issue_id,
    filename,
    content_type,
    size_bytes,
    text_status: (found?.status ?? 'none') as AttachmentText['text_status'],
    text: found?.text ?? null,
    text_length: found?.length ?? null,
    download_path: `/api/attachments/${id}/download`,
  };
}

/** SQL: whether texts of the latest files are still being extracted. Ones pending for longer are waiting for a sweep. */
export function textsAwaited(which: SQL): SQL {
  return sql`exists (select from attachments f join attachment_texts t on t.attachment_id = f.id
    where ${which} and t.status in ('pending', 'reading')
      and f.created_at > now() - interval '1 minute')`;
}

/** SQL: JSON list of the latest files with the beginnings of their texts, oldest first, for prompts. */
export function promptAttachments(which: SQL): SQL {
  return sql`coalesce((
    select jsonb_agg(jsonb_build_object('id', id, 'filename', filename, 'content_type', content_type,
      'size_bytes', size_bytes, 'text_status', text_status, 'text', text, 'text_length', text_length,
      'storage_key', image_key)
      order by created_at, id)
    from (
      select f.id, f.filename, f.content_type, f.size_bytes, f.created_at,
        case t.status when 'reading' then 'pending' else coalesce(t.status, 'none') end as text_status,
        left(t.extracted_text, ${LONGEST_TEXT}) as text, length(t.extracted_text) as text_length,
        case when f.content_type like 'image/%' then f.storage_key end as image_key
      from attachments f left join attachment_texts t on t.attachment_id = f.id
      where ${which} order by f.created_at desc, f.id desc limit ${SHOWN}
    ) newest), '[]')`;
}
