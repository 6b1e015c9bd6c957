import { chatEndpoints as rows } from '@acp/contract';
import {
  createChat,
  deleteChat,
  findChatFile,
  listChatMessages,
  listChats,
  postChatMessage,
  presentChat,
  resendChatMessage,
  stopChat,
  updateChat,
} from '@acp/core';
import { notFound } from '@acp/kernel';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { sendFile } from '../../http/send-file.ts';

/** The streams are defined next to the live hub (`chats/stream-routes.ts`). */
export const chatRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listChats(c.tx, c.actor, c.company_id, c.query))),
  handle(rows.create, (c) => createChat(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.get, (c) => presentChat(c.subject)),
  handle(rows.update, (c) => updateChat(c.tx, c.actor, c.subject, c.body)),
  handle(rows.delete, (c) => deleteChat(c.tx, c.actor, c.subject)),
  handle(rows.messages, async (c) => paged(c, await listChatMessages(c.tx, c.subject, c.query))),
  handle(rows.post, (c) => postChatMessage(c.tx, c.actor, c.subject, c.body, c.files)),
  handle(rows.resend, (c) => resendChatMessage(c.tx, c.actor, c.subject, c.params.messageId ?? '', c.body)),
  handle(rows.file, async (c) => {
    const file = await findChatFile(c.tx, c.subject, c.params.attachmentId ?? '');
    if (file === undefined) throw notFound();
    return sendFile(c, { ...file, etag: file.sha256 });
  }),
  handle(rows.stop, (c) => stopChat(c.tx, c.actor, c.subject)),
];
