import { schema, type Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { and, desc, eq, sql } from 'drizzle-orm';
import { type TextKind, textKindOf } from './file-names.ts';

const { attachments, attachment_texts } = schema;

/** What a scheduler needs to extract a text. */
export interface TextSource {
  storage_key: string;
  size_bytes: number;
  kind: TextKind;
}

/** `none`: there was nothing to extract. `failed`: with the reason. */
export type ExtractedText =
  { status: 'done'; extracted_text: string } | { status: 'none' } | { status: 'failed'; error: string };

export interface AttachmentText {
  id: string;
  filename: string;
  content_type: string;
  size_bytes: number;
  /** Null where there is none, or none yet. */
  text: string | null;
}

const LONGEST_TEXT = 20_000;

/** Undefined when there is nothing to do: deleted, or done already. */
export async function textSource(tx: Tx, attachmentId: string): Promise<TextSource | undefined> {
  const [row] = await tx
    .select({
      storage_key: attachments.storage_key,
      size_bytes: attachments.size_bytes,
      filename: attachments.filename,
      content_type: attachments.content_type,
    })
    .from(attachments)
    .innerJoin(attachment_texts, eq(attachment_texts.attachment_id, attachments.id))
    .where(and(eq(attachments.id, attachmentId), eq(attachment_texts.status, 'pending')));
  const kind = row && textKindOf(row.filename, row.content_type);
  return row && kind ? { storage_key: row.storage_key, size_bytes: row.size_bytes, kind } : undefined;
}

/** Once: a second result of the same work changes nothing. */
export async function storeAttachmentText(
  tx: Tx,
  attachmentId: string,
  result: ExtractedText,
): Promise<void> {
  await tx
    .update(attachment_texts)
    .set({
      status: result.status,
      extracted_text: result.status === 'done' ? result.extracted_text : null,
      error: result.status === 'failed' ? result.error : null,
      updated_at: sql`now()`,
    })
    .where(and(eq(attachment_texts.attachment_id, attachmentId), eq(attachment_texts.status, 'pending')));
}

/** Asks again for texts that have been pending for ten minutes: their jobs were lost. */
export async function sweepPendingTexts(tx: Tx, limit = 100): Promise<number> {
  const { rows } = await tx.execute<{ attachment_id: string }>(sql`
    update attachment_texts set updated_at = now()
    where attachment_id in (
      select attachment_id from attachment_texts
      where status = 'pending' and updated_at < now() - interval '10 minutes'
      order by updated_at limit ${limit} for update skip locked)
    returning attachment_id`);
  await enqueueMany(tx, 'extract-text', rows);
  return rows.length;
}

/**
 * The newest attachments of an issue with their texts, for prompts. Each text is cut at `longest` characters.
 * @param limit attachments, not characters
 */
export async function attachmentTexts(
  tx: Tx,
  issueId: string,
  limit: number,
  longest = LONGEST_TEXT,
): Promise<AttachmentText[]> {
  return tx
    .select({
      id: attachments.id,
      filename: attachments.filename,
      content_type: attachments.content_type,
      size_bytes: attachments.size_bytes,
      text: sql<string | null>`left(${attachment_texts.extracted_text}, ${longest}::int)`,
    })
    .from(attachments)
    .leftJoin(attachment_texts, eq(attachment_texts.attachment_id, attachments.id))
    .where(eq(attachments.issue_id, issueId))
    .orderBy(desc(attachments.created_at), desc(attachments.id))
    .limit(limit);
}
