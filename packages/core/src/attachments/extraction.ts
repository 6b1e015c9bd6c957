/** Queue of text extractions. A job only signals that there is work; the claim decides which. */
import { schema, type Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { and, eq, sql } from 'drizzle-orm';
import { type TextKind, textKindOf } from './file-names.ts';

const { attachment_texts } = schema;

/** What a scheduler needs for extracting a text. */
interface TextSource {
  attachment_id: string;
  company_id: string;
  storage_key: string;
  size_bytes: number;
  /** Null: there is nothing to extract, as far as is known now. */
  kind: TextKind | null;
}

/** `none`: there was nothing to extract. `failed`: with the reason. */
export type ExtractedText =
  | { status: 'done'; extracted_text: string }
  | { status: 'none' }
  | { status: 'failed'; error: string };

/** Rows considered per company: if another scheduler takes the first one right now, there is a second. */
const PER_COMPANY = 2;
/** A file that has crashed or stopped this many schedulers is given up. */
const MOST_LOSSES = 3;

/**
 * Claims the next pending text fairly: from the company with the fewest extractions in progress, in turn, the one that has waited
 * longest. Companies with pending texts are found by skipping through the index rather than reading the queue. Undefined if
 * nothing is pending.
 * @param after the company whose turn was last; null: none
 */
export async function claimText(tx: Tx, after: string | null): Promise<TextSource | undefined> {
  type Row = Omit<TextSource, 'kind' | 'size_bytes'> & {
    size_bytes: string;
    filename: string;
    content_type: string;
  };
  const { rows } = await tx.execute<Row & Record<string, unknown>>(sql`
    with recursive tenant as (
      (select company_id from attachment_texts where status = 'pending' order by company_id limit 1)
      union all
      select (select t.company_id from attachment_texts t
        where t.status = 'pending' and t.company_id > tenant.company_id order by t.company_id limit 1)
      from tenant where tenant.company_id is not null
    ), candidate as materialized (
      select next.attachment_id, next.queued_at, tenant.company_id, coalesce(busy.texts, 0) as texts,
        coalesce(tenant.company_id > ${after}::uuid, true) as in_turn
      from tenant
      left join (select company_id, count(*) as texts from attachment_texts where status = 'reading' group by company_id) busy
        on busy.company_id = tenant.company_id
      cross join lateral (
        select t.attachment_id, t.queued_at from attachment_texts t
        where t.company_id = tenant.company_id and t.status = 'pending'
        order by t.queued_at, t.attachment_id limit ${PER_COMPANY}
      ) next
    ), picked as materialized (
      select t.attachment_id from candidate c join attachment_texts t on t.attachment_id = c.attachment_id
      where t.status = 'pending'
      order by c.texts, c.in_turn desc, c.company_id, c.queued_at, c.attachment_id limit 1
      for no key update of t skip locked
    )
    update attachment_texts claimed set status = 'reading', updated_at = now()
    from picked join attachments f on f.id = picked.attachment_id
    where claimed.attachment_id = picked.attachment_id
    returning f.id as attachment_id, f.company_id, f.storage_key, f.size_bytes, f.filename, f.content_type`);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { filename, content_type, size_bytes, ...source } = row;
  return { ...source, size_bytes: Number(size_bytes), kind: textKindOf(filename, content_type) };
}

/** Could not be read now: back to the end of its company's queue. */
export async function releaseText(tx: Tx, attachmentId: string): Promise<void> {
  await tx
    .update(attachment_texts)
    .set({ status: 'pending', queued_at: sql`now()`, updated_at: sql`now()` })
    .where(and(eq(attachment_texts.attachment_id, attachmentId), eq(attachment_texts.status, 'reading')));
}

/** Idempotent: a second result of the same work changes nothing. */
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
    .where(and(eq(attachment_texts.attachment_id, attachmentId), eq(attachment_texts.status, 'reading')));
}

/**
 * Extractions that began ten minutes ago were lost with their scheduler and are queued again; a text to which this happens
 * repeatedly is given up. Also re-enqueues texts that have been pending for ten minutes, since their jobs were lost.
 */
export async function sweepPendingTexts(tx: Tx, limit = 100): Promise<number> {
  await tx.execute(sql`
    update attachment_texts set losses = losses + 1, queued_at = now(),
      status = case when losses + 1 < ${MOST_LOSSES} then 'pending' else 'failed' end,
      error = case when losses + 1 < ${MOST_LOSSES} then null else 'reading it was broken off several times' end
    where attachment_id in (
      select attachment_id from attachment_texts
      where status = 'reading' and updated_at < now() - interval '10 minutes'
      order by updated_at limit ${limit} for update skip locked)`);
  const { rows } = await tx.execute<{ attachment_id: string }>(sql`
    update attachment_texts t set updated_at = now(), company_id = f.company_id
    from attachments f
    where f.id = t.attachment_id and t.attachment_id in (
      select attachment_id from attachment_texts
      where status = 'pending' and updated_at < now() - interval '10 minutes'
      order by updated_at limit ${limit} for update skip locked)
    returning t.attachment_id`);
  await enqueueMany(tx, 'extract-text', rows);
  return rows.length;
}
