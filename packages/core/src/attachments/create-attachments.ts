import {
  type Actor,
  type Attachment,
  type CreateIssue,
  type IssueWithAttachments,
  requirePermission,
} from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { createIssue, findIssue, type IssueRow, issueUpdated } from '../issues/index.ts';
import { textKindOf } from './file-names.ts';
import { keepStorageKeys } from './orphans.ts';
import { presentAttachment } from './read-attachments.ts';
import type { FailedFile, StoredFile } from './stored-file.ts';

const { attachments, attachment_texts } = schema;

/**
 * Writes rows for files already in storage; after the commit their keys are no longer orphans. A scheduler extracts their texts.
 * Throws `forbidden` for an agent that may not write files, `unavailable` if the upload took too long.
 */
export async function createAttachments(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  files: readonly StoredFile[],
): Promise<Attachment[]> {
  const { company_id, id: issue_id } = issue;
  await assertRoom(tx, 'attachments', issue_id, files.length);
  const rows = await keepFiles(tx, actor, { company_id, issue_id, chat_message_id: null }, files);
  await recordChanges(
    tx,
    actor,
    rows.map(({ id, filename, size_bytes }) => ({
      ...issueUpdated(issue, 'attachment.created', { issue_id: issue.id, filename, size_bytes }),
      entity_type: 'attachment',
      entity_id: id,
    })),
  );
  return rows.map((row) => presentAttachment({ ...row, issue_id }));
}

/** The same for files in a chat message, which leave no activity. @returns in upload order */
export async function attachToMessage(
  tx: Tx,
  actor: Actor,
  { company_id, id }: { company_id: string; id: string },
  files: readonly StoredFile[],
): Promise<Pick<FileRow, 'id' | 'filename' | 'content_type' | 'size_bytes'>[]> {
  const rows = await keepFiles(tx, actor, { company_id, issue_id: null, chat_message_id: id }, files);
  return rows.map(({ id: file_id, filename, content_type, size_bytes }) => ({
    id: file_id,
    filename,
    content_type,
    size_bytes,
  }));
}

/** Multipart creation: files that could not be stored are reported, and the issue is created anyway. */
export async function createIssueWithAttachments(
  tx: Tx,
  actor: Actor,
  companyId: string,
  input: CreateIssue,
  files: readonly (StoredFile | FailedFile)[],
): Promise<IssueWithAttachments> {
  const issue = await createIssue(tx, actor, companyId, input);
  const stored = files.filter((file) => 'storage_key' in file);
  const attachment_errors = files.filter((file) => 'error' in file);
  const row = stored.length > 0 ? await findIssue(tx, issue.id) : undefined;
  if (stored.length > 0 && row === undefined) throw notFound();
  return {
    issue,
    attachments: row === undefined ? [] : await createAttachments(tx, actor, row, stored),
    attachment_errors: attachment_errors.length > 0 ? attachment_errors : null,
  };
}

type FileRow = typeof attachments.$inferSelect;
type Place = Pick<FileRow, 'company_id' | 'issue_id' | 'chat_message_id'>;

async function keepFiles(
  tx: Tx,
  actor: Actor,
  place: Place,
  files: readonly StoredFile[],
): Promise<FileRow[]> {
  if (files.length === 0) return [];
  requirePermission(actor, 'files.write');
  const keys = files.map((file) => file.storage_key);
  await keepStorageKeys(tx, keys);
  const rows = inOrder(keys, await insertRows(tx, actor, place, files));
  await expectTexts(tx, rows);
  return rows;
}

async function insertRows(
  tx: Tx,
  actor: Actor,
  place: Place,
  files: readonly StoredFile[],
): Promise<FileRow[]> {
  const author = actorColumns(actor);
  return tx
    .insert(attachments)
    .values(
      files.map(({ filename, content_type, size_bytes, sha256, storage_key }) => ({
        ...place,
        filename,
        content_type,
        size_bytes,
        sha256,
        storage_key,
        created_by_agent_id: author.agent_id,
        created_by_user_id: author.user_id,
      })),
    )
    .returning();
}

/** Sorts the rows into upload order. */
function inOrder(keys: readonly string[], rows: readonly FileRow[]): FileRow[] {
  const byKey = new Map(rows.map((row) => [row.storage_key, row]));
  return keys.map((key) => byKey.get(key)!);
}

async function expectTexts(tx: Tx, rows: readonly FileRow[]): Promise<void> {
  const readable = rows.filter((row) => textKindOf(row.filename, row.content_type) !== null);
  await tx.insert(attachment_texts).values(
    rows.map((row) => ({
      attachment_id: row.id,
      company_id: row.company_id,
      status: readable.includes(row) ? 'pending' : 'none',
    })),
  );
  await enqueueMany(
    tx,
    'extract-text',
    readable.map(({ id }) => ({ attachment_id: id })),
  );
}
