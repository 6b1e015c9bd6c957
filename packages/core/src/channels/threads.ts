import type { ChannelIncoming, UserActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import { findAgent } from '../agents/index.ts';
import type { ChannelRow } from './present.ts';

const { agents, channel_threads } = schema;

type ThreadRow = typeof channel_threads.$inferSelect;

const MOST_LISTED = 50;

/** Locks the thread of this person here, which is created with the first message. */
export async function lockThread(
  tx: Tx,
  channel: Pick<ChannelRow, 'id'>,
  { user_id }: Pick<UserActor, 'user_id'>,
  { conversation, thread, message_id, is_private }: ChannelIncoming,
): Promise<ThreadRow> {
  const place = { channel_id: channel.id, user_id, conversation, thread };
  const last_message = is_private ? null : message_id;
  const [row] = await tx
    .insert(channel_threads)
    .values({ ...place, last_message })
    .onConflictDoUpdate({
      target: [
        channel_threads.channel_id,
        channel_threads.conversation,
        channel_threads.thread,
        channel_threads.user_id,
      ],
      set: { last_message, updated_at: sql`now()` },
    })
    .returning();
  return row!;
}

/** Agents of the company that a person can talk to. */
const atHand = (company_id: string) =>
  and(
    eq(agents.company_id, company_id),
    isNull(agents.deleted_at),
    isNull(agents.parent_agent_id),
    sql`${agents.status} not in ('terminated', 'pending_approval')`,
  );

/** By name, at most fifty. */
export async function agentsAtHand(
  tx: Tx,
  company_id: string,
): Promise<{ id: string; name: string; title: string | null; role: string }[]> {
  return tx
    .select({ id: agents.id, name: agents.name, title: agents.title, role: agents.role })
    .from(agents)
    .where(atHand(company_id))
    .orderBy(asc(agents.name), asc(agents.id))
    .limit(MOST_LISTED);
}

/** The one of them with that name, or else the first whose name begins like it, ignoring case. Undefined if there is none. */
export async function agentCalled(
  tx: Tx,
  company_id: string,
  wanted: string,
): Promise<{ id: string; name: string } | undefined> {
  if (wanted === '') return undefined;
  const name = sql`lower(${agents.name})`;
  const [found] = await tx
    .select({ id: agents.id, name: agents.name })
    .from(agents)
    .where(and(atHand(company_id), sql`starts_with(${name}, lower(${wanted}))`))
    .orderBy(sql`${name} = lower(${wanted}) desc`, asc(agents.name), asc(agents.id))
    .limit(1);
  return found;
}

/**
 * The agent that answers in a thread: the one chosen there, else the one that the person last chose elsewhere in the channel,
 * else the channel's default, else the only one there is. @throws conflict if there is none
 */
export async function agentFor(tx: Tx, channel: ChannelRow, thread: ThreadRow): Promise<string> {
  if (thread.agent_id !== null) {
    const agent = await findAgent(tx, thread.agent_id);
    if (agent === undefined) throw conflict('its agent is gone: !agents shows the others');
    return agent.id;
  }
  const { rows } = await tx.execute<{ agent_id: string | null }>(sql`
    select coalesce(
      (select t.agent_id from channel_threads t join agents a on a.id = t.agent_id and a.deleted_at is null where t.channel_id = ${channel.id} and t.user_id = ${thread.user_id}
        order by t.updated_at desc limit 1),
      (select a.id from agents a where a.id = ${channel.default_agent_id}::uuid and a.deleted_at is null)) as agent_id`);
  const chosen = rows[0]?.agent_id ?? null;
  if (chosen !== null) return chosen;
  const [only, another] = await agentsAtHand(tx, channel.company_id);
  if (only !== undefined && another === undefined) return only.id;
  throw conflict('choose an agent first: !agents shows them');
}

/** Sets the chat that further messages in the thread belong to. */
export async function keepChat(tx: Tx, { id }: Pick<ThreadRow, 'id'>, chat_id: string | null): Promise<void> {
  await tx.update(channel_threads).set({ chat_id }).where(eq(channel_threads.id, id));
}

export async function chooseAgent(tx: Tx, { id }: Pick<ThreadRow, 'id'>, agent_id: string): Promise<void> {
  await tx.update(channel_threads).set({ agent_id, chat_id: null }).where(eq(channel_threads.id, id));
}
