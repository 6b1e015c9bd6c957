import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { eq } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { findIssue, issueUpdated } from '../issues/index.ts';
import type { AttachmentRow } from './read-attachments.ts';

const { attachments } = schema;

/** Deletes the row; its key becomes an orphan, whose bytes are deleted after the commit by the caller or the sweep. */
export async function deleteAttachment(tx: Tx, actor: Actor, subject: AttachmentRow): Promise<void> {
  const [row] = await tx
    .delete(attachments)
    .where(eq(attachments.id, subject.id))
    .returning({ id: attachments.id, filename: attachments.filename });
  const issue = await findIssue(tx, subject.issue_id);
  if (!row || !issue) throw notFound();
  await recordChanges(tx, actor, [
    {
      ...issueUpdated(issue, 'attachment.deleted', { issue_id: issue.id, filename: row.filename }),
      entity_type: 'attachment',
      entity_id: row.id,
    },
  ]);
}
