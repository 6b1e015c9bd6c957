import { attachmentEndpoints as rows } from '@acp/contract';
import { createAttachments, deleteAttachment, listAttachments, readAttachmentText } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { sendFile } from '../../http/send-file.ts';

export const attachmentRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listAttachments(c.tx, c.subject, c.query))),
  handle(rows.create, async (c) => {
    const made = await createAttachments(c.tx, c.actor, c.subject, c.files);
    return made.length === 1 ? made[0]! : made;
  }),
  handle(rows.download, (c) => sendFile(c, { ...c.subject, etag: c.subject.sha256 })),
  handle(rows.text, (c) => readAttachmentText(c.tx, c.subject, c.query.offset)),
  handle(rows.delete, async ({ services, actor, company_id, subject }) => {
    await services.change(company_id, (tx) => deleteAttachment(tx, actor, subject));
    await services.files.discard([subject.storage_key]);
  }),
];
