import type { Actor, Chat, ChatChannel, CreateChat, UpdateChat } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, invalid, notFound } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { findAgent } from '../agents/index.ts';
import { cancelRuns, clearRunContent } from '../runs/index.ts';
import { chatChange, presentChat, type ShownChat, shownChat } from './present.ts';

const { chats } = schema;

/** The channel of a chat that takes place outside the service. */
interface HeldElsewhere {
  channel: ChatChannel;
  channel_id: string | null;
}

/** @throws invalid for an agent of another company; conflict for an agent that wants to talk to itself */
export async function createChat(
  tx: Tx,
  actor: Actor,
  company_id: string,
  { agent_id, title }: CreateChat,
  held: HeldElsewhere = { channel: 'web', channel_id: null },
): Promise<Chat> {
  const agent = await findAgent(tx, agent_id);
  if (agent?.company_id !== company_id) throw invalid('agent_id: no such agent in this company');
  if (actor.kind === 'agent' && actor.agent_id === agent_id)
    throw conflict('an agent cannot chat with itself');
  await assertRoom(tx, 'chats', company_id);
  const author = actorColumns(actor);
  const [row] = await tx
    .insert(chats)
    .values({
      company_id,
      agent_id,
      title: title ?? null,
      ...held,
      created_by_user_id: author.user_id,
      created_by_agent_id: author.agent_id,
    })
    .returning();
  await recordChanges(tx, actor, [chatChange(row!, 'chat.created')]);
  return presentChat(row!);
}

export async function updateChat(tx: Tx, actor: Actor, chat: ShownChat, input: UpdateChat): Promise<Chat> {
  if (input.title === undefined || input.title === chat.title) return presentChat(chat);
  const [row] = await tx
    .update(chats)
    .set({ title: input.title, updated_at: sql`clock_timestamp()` })
    .where(eq(chats.id, chat.id))
    .returning(shownChat);
  if (row === undefined) throw notFound();
  await recordChanges(tx, actor, [chatChange(row, 'chat.updated')]);
  return presentChat(row);
}

/** Permanently deletes the chat and its replies' transcripts; a reply in progress is stopped and forgotten when it ends. */
export async function deleteChat(
  tx: Tx,
  actor: Actor,
  chat: Pick<ShownChat, 'id' | 'company_id' | 'agent_id'>,
): Promise<void> {
  // Lock order: the chat before its runs. Once it is deleted, none of its messages is answered any more.
  await tx.delete(chats).where(eq(chats.id, chat.id));
  const changes = await cancelRuns(
    tx,
    sql`r.subject_id = ${chat.id} and r.kind <> 'heartbeat'`,
    'the chat was deleted',
  );
  await clearRunContent(tx, chat.id);
  await recordChanges(tx, actor, [...changes, chatChange(chat, 'chat.deleted')]);
}
