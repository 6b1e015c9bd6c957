import type { Actor, Chat, ChatMessage, PostChatMessage, ResendChatMessage } from '@acp/contract';
import { liveRunStatuses, schema, type Tx } from '@acp/db';
import { conflict, forbidden, invalid, notFound, said } from '@acp/kernel';
import { and, eq, gt, inArray, sql } from 'drizzle-orm';
import { actorColumns, causeDepth, recordChanges } from '../activity/index.ts';
import { attachToMessage, type StoredFile } from '../attachments/index.ts';
import { cancelRun, cancelRuns } from '../runs/index.ts';
import { answerNext, assertAnswers, chatKey } from './answer-next.ts';
import {
  type ChatMessageRow,
  type ChatRow,
  messageChange,
  presentChat,
  presentMessage,
  type ShownChat,
} from './present.ts';
import { findChatMessage } from './read-chats.ts';
import { summaryKey } from './summary.ts';

const { chats, chat_messages } = schema;

/** Maximum number of messages waiting for a reply. */
const MOST_WAITING = 20;
/** A chat is read as a whole: to go on from here, start a new one. */
const MOST_TURNS = 5000;

/**
 * Stores the message with its files and starts a reply, or lets it wait while a reply is in progress.
 * @throws invalid if it is empty; forbidden for files of an agent that may write none; conflict if the agent may not answer, or
 * too many messages are waiting
 */
export async function postChatMessage(
  tx: Tx,
  actor: Actor,
  subject: Pick<ShownChat, 'id'>,
  { body_markdown = '' }: PostChatMessage,
  files: readonly StoredFile[] = [],
): Promise<ChatMessage> {
  assertSaid(body_markdown, files);
  const chat = await lockChat(tx, subject.id);
  const depth = causeDepth(actor);
  if (actor.kind === 'agent' && actor.agent_id === chat.agent_id)
    throw conflict('an agent cannot chat with itself');
  await assertAnswers(tx, chat, depth);
  if ((await openMessages(tx, chat.id)).length >= MOST_WAITING)
    throw conflict(said`${MOST_WAITING} messages are already waiting for a reply`);
  if (chat.last_turn >= MOST_TURNS) throw conflict('the chat is full: start a new one');
  const author = actorColumns(actor);
  const turn = chat.last_turn + 1;
  const [row] = await tx
    .insert(chat_messages)
    .values({
      company_id: chat.company_id,
      chat_id: chat.id,
      position: 2 * turn,
      role: 'user',
      body_markdown,
      author_user_id: author.user_id,
      author_agent_id: author.agent_id,
      author_name: actor.name,
      status: 'waiting',
      depth,
    })
    .returning();
  const attached = await withFiles(tx, actor, row!, files);
  await tx
    .update(chats)
    .set({ last_turn: turn, updated_at: sql`clock_timestamp()` })
    .where(eq(chats.id, chat.id));
  return begun(tx, actor, chat, attached);
}

async function withFiles(
  tx: Tx,
  actor: Actor,
  row: ChatMessageRow,
  files: readonly StoredFile[],
): Promise<ChatMessageRow> {
  if (files.length === 0) return row;
  const attachments = await attachToMessage(tx, actor, row, files);
  await tx.update(chat_messages).set({ attachments }).where(eq(chat_messages.id, row.id));
  return { ...row, attachments };
}

function assertSaid(body_markdown: string, files: readonly unknown[]): void {
  if (body_markdown.trim() === '' && files.length === 0)
    throw invalid('body_markdown: must not be empty without a file');
}

/**
 * Asks again, optionally with another text: later messages are deleted, its own files stay.
 * @throws notFound if the message is not a question of this chat; forbidden for someone else's; conflict while a reply
 * is in progress, or if the agent may not answer
 */
export async function resendChatMessage(
  tx: Tx,
  actor: Actor,
  subject: Pick<ShownChat, 'id'>,
  message_id: string,
  input: ResendChatMessage,
): Promise<ChatMessage> {
  const chat = await lockChat(tx, subject.id);
  const message = await findChatMessage(tx, chat, message_id);
  if (message?.role !== 'user') throw notFound();
  const author = actorColumns(actor);
  if (message.author_user_id !== author.user_id || message.author_agent_id !== author.agent_id)
    throw forbidden('only its author may send a message again');
  const body_markdown = input.body_markdown ?? message.body_markdown;
  assertSaid(body_markdown, message.attachments);
  if ((await openMessages(tx, chat.id)).length > 0) throw conflict('a reply is being written: stop it first');
  await assertAnswers(tx, chat, message.depth);
  const turn = message.position / 2;
  await tx
    .delete(chat_messages)
    .where(and(eq(chat_messages.chat_id, chat.id), gt(chat_messages.position, message.position)));
  const [row] = await tx
    .update(chat_messages)
    .set({
      body_markdown,
      status: 'waiting',
      error: null,
      run_id: null,
    })
    .where(eq(chat_messages.id, message.id))
    .returning();
  // A summary, finished or in progress, would bring back what was deleted.
  const calledOff = await cancelRuns(tx, sql`r.live_key = ${summaryKey(chat.id)}`, 'the chat was changed');
  await recordChanges(tx, actor, calledOff);
  const forgotten = chat.summary_turn >= turn ? { summary: null, summary_turn: 0 } : {};
  await tx
    .update(chats)
    .set({ ...forgotten, last_turn: turn, updated_at: sql`clock_timestamp()` })
    .where(eq(chats.id, chat.id));
  return begun(tx, actor, chat, row!);
}

/** Ends the reply that is running or waiting for a slot; the message after it is answered next. */
export async function stopChat(tx: Tx, actor: Actor, subject: ShownChat): Promise<Chat> {
  const chat = await lockChat(tx, subject.id);
  const { rows } = await tx.execute<{ id: string }>(
    sql`select id from heartbeat_runs where live_key = ${chatKey(chat.id)} and status in ${liveRunStatuses}`,
  );
  for (const { id } of rows) await cancelRun(tx, actor, { id });
  return presentChat(subject);
}

async function begun(tx: Tx, actor: Actor, chat: ChatRow, row: ChatMessageRow): Promise<ChatMessage> {
  const answered = await answerNext(tx, actor, chat);
  const own = answered.find(({ entity_id }) => entity_id === row.id);
  await recordChanges(tx, actor, [...(own ? [] : [messageChange(chat, row)]), ...answered]);
  const now = own ? await findChatMessage(tx, chat, row.id) : row;
  return presentMessage(now ?? row);
}

async function lockChat(tx: Tx, id: string): Promise<ChatRow> {
  const [row] = await tx.select().from(chats).where(eq(chats.id, id)).for('no key update');
  if (row === undefined) throw notFound();
  return row;
}

async function openMessages(tx: Tx, chat_id: string): Promise<{ id: string }[]> {
  return tx
    .select({ id: chat_messages.id })
    .from(chat_messages)
    .where(and(eq(chat_messages.chat_id, chat_id), inArray(chat_messages.status, ['waiting', 'answering'])))
    .limit(MOST_WAITING + 1);
}
