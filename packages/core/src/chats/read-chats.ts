import type { Actor, Chat, ChatMessage, ListChats } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, readWithinBytes, schema, type Tx } from '@acp/db';
import { decodeCursor, encodeCursor, isUuid } from '@acp/kernel';
import { and, asc, desc, eq, gt, isNull, lt, or, type SQL, sql } from 'drizzle-orm';
import { ofLiveCompany } from '../companies/index.ts';
import {
  type ChatMessageRow,
  type ChatRow,
  presentChat,
  presentMessage,
  type ShownChat,
  shownChat,
} from './present.ts';

const { chats, chat_messages, companies } = schema;

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/**
 * The company's chats that the actor may see: a person's own, and those created with a key. A standing key of an agent gives
 * access to no private chat, not even its own agent's: otherwise anyone who may create keys could read along.
 */
function visibleTo(actor: Actor): SQL {
  const open = isNull(chats.created_by_user_id);
  return actor.kind === 'user' ? or(open, eq(chats.created_by_user_id, actor.user_id))! : open;
}

/** Used by the scope loader: undefined if the actor may not see the chat. A chat with a trashed agent can be read. */
export async function findChat(tx: Tx, id: string, actor: Actor): Promise<ShownChat | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(shownChat)
    .from(chats)
    .innerJoin(companies, ofLiveCompany(chats.company_id))
    .where(and(eq(chats.id, id), visibleTo(actor)));
  return row;
}

/** Most recently used first; with `q`, chats whose title contains it or that have a message with its words. */
export async function listChats(
  tx: Tx,
  actor: Actor,
  company_id: string,
  query: ListChats,
): Promise<Page<Chat>> {
  const page = newestFirst(chats.updated_at, chats.id, query, DEFAULT_LIMIT);
  const rows: ShownChat[] = await tx
    .select(shownChat)
    .from(chats)
    .where(
      and(
        eq(chats.company_id, company_id),
        visibleTo(actor),
        query.agent_id === undefined ? undefined : eq(chats.agent_id, query.agent_id),
        matching(query.q?.trim() ?? ''),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, ({ updated_at, id }) => ({ at: updated_at, id }), presentChat);
}

function matching(q: string): SQL | undefined {
  if (q === '') return undefined;
  const like = `%${q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  return sql`(${chats.title} ilike ${like} or exists (select from chat_messages m where m.chat_id = ${chats.id}
    and m.words @@ plainto_tsquery('simple', searchable_text(${q}))))`;
}

/** A reply follows the message that it answers, whatever was sent in the meantime. */
export async function listChatMessages(
  tx: Tx,
  chat: Pick<ChatRow, 'id'>,
  query: PageRequest,
): Promise<Page<ChatMessage>> {
  const size = Math.min(query.limit ?? DEFAULT_LIMIT, MAX_LIMIT);
  const [after] = query.cursor === undefined ? [] : decodeCursor(query.cursor, ['integer']);
  const listing = tx
    .select()
    .from(chat_messages)
    .where(
      and(
        eq(chat_messages.chat_id, chat.id),
        after === undefined ? undefined : gt(chat_messages.position, Number(after)),
      ),
    )
    .orderBy(asc(chat_messages.position))
    .limit(size + 1);
  const { rows, more } = await readWithinBytes(tx, listing);
  const items = rows.slice(0, size);
  const last = more || rows.length > size ? items.at(-1) : undefined;
  return {
    items: items.map(presentMessage),
    next_cursor: last === undefined ? null : encodeCursor([last.position]),
  };
}

/** The newest messages before a position, oldest first, and whether there are earlier ones. */
export async function newestChatMessages(
  tx: Tx,
  chat: Pick<ChatRow, 'id'>,
  { before, limit }: { before?: number; limit: number },
): Promise<{ rows: ChatMessageRow[]; earlier: boolean }> {
  const listing = tx
    .select()
    .from(chat_messages)
    .where(
      and(
        eq(chat_messages.chat_id, chat.id),
        before === undefined ? undefined : lt(chat_messages.position, before),
      ),
    )
    .orderBy(desc(chat_messages.position))
    .limit(limit + 1);
  const { rows, more } = await readWithinBytes(tx, listing);
  return { rows: rows.slice(0, limit).toReversed(), earlier: more || rows.length > limit };
}

export async function findChatMessage(
  tx: Tx,
  chat: Pick<ChatRow, 'id'>,
  id: string,
): Promise<ChatMessageRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select()
    .from(chat_messages)
    .where(and(eq(chat_messages.id, id), eq(chat_messages.chat_id, chat.id)));
  return row;
}

/** A message's outcome: the message itself, and its reply if there is one. */
export async function readReply(
  tx: Tx,
  message_id: string,
): Promise<{ message: ChatMessageRow; reply: ChatMessageRow | null } | undefined> {
  const rows = await tx
    .select()
    .from(chat_messages)
    .where(
      sql`(${chat_messages.chat_id}, ${chat_messages.position}) in (
        select m.chat_id, m.position + o from chat_messages m, (values (0), (1)) as place(o) where m.id = ${message_id})`,
    )
    .orderBy(asc(chat_messages.position));
  const [message, reply = null] = rows;
  return message?.role === 'user' ? { message, reply } : undefined;
}
