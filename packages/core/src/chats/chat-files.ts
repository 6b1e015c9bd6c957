/** Files of messages: accessible to whoever may see the chat; prompts contain their text. */
import { schema, type Tx } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import { type PromptAttachment, promptAttachments, textsAwaited } from '../attachments/index.ts';
import type { ChatRow } from './present.ts';

const { attachments, chat_messages } = schema;

/** Number of turns before a question that are searched for files; prompts list the newest twenty. */
const LOOKED_AT = 200;

export interface StoredFiles {
  files: PromptAttachment[];
  awaited: boolean;
}

/**
 * SQL: the newest files of a chat up to a message, as a JSON object.
 * @param chat_id expression of the surrounding statement, like `position`, the last one included
 */
export function filesUpTo(chat_id: SQL, position: SQL): SQL {
  const which = sql`f.chat_message_id in (select m.id from chat_messages m where m.chat_id = ${chat_id}
    and m.position <= ${position} and m.position > ${position} - ${2 * LOOKED_AT}::int and m.attachments <> '[]')`;
  return sql`jsonb_build_object('files', ${promptAttachments(which)}, 'awaited', ${textsAwaited(which)})`;
}

/** Undefined if the chat has no such file. */
export async function findChatFile(
  tx: Tx,
  chat: Pick<ChatRow, 'id'>,
  id: string,
): Promise<typeof attachments.$inferSelect | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(getTableColumns(attachments))
    .from(attachments)
    .innerJoin(chat_messages, eq(chat_messages.id, attachments.chat_message_id))
    .where(and(eq(attachments.id, id), eq(chat_messages.chat_id, chat.id)));
  return row;
}
