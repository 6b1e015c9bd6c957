import { type Actor, adapterTraits } from '@acp/contract';
import { liveRunStatuses, schema, type Tx } from '@acp/db';
import { conflict, inWords, said, stated } from '@acp/kernel';
import { and, asc, eq, sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import {
  admissionRefusal,
  admitRuns,
  type AgentFacts,
  type Proposal,
  readAgentFacts,
} from '../runs/index.ts';
import { type ChatMessageRow, type ChatRow, messageChange } from './present.ts';

const { chat_messages } = schema;

export const CHAT_REPLY = 'chat_reply';
const GONE = stated('the agent of this chat is gone');

/** Limits a chat to one reply at a time. */
export const chatKey = (chat_id: string) => `chat:${chat_id}`;

type ChatOf = Pick<ChatRow, 'id' | 'agent_id' | 'created_by_user_id'>;

function proposalOf(
  chat: ChatOf,
  agent: AgentFacts,
  message: Pick<ChatMessageRow, 'id' | 'author_name' | 'depth'>,
): Proposal {
  const { told_by } = adapterTraits(agent.adapter_type);
  return {
    kind: CHAT_REPLY,
    subject_id: chat.id,
    issue_id: null,
    payload: { message_id: message.id },
    private_to_user_id: chat.created_by_user_id,
    wake_reason: 'chat',
    trigger_detail: `asked by ${message.author_name}`,
    depth: message.depth,
    // Programs that receive a task instead of a prompt can't be given a conversation.
    objection: told_by === 'prompt' ? null : said`agents with the adapter ${agent.adapter_type} do not chat`,
  };
}

/** @throws conflict if the agent could not answer now: paused, in the trash, over budget, … */
export async function assertAnswers(tx: Tx, chat: ChatOf, depth: number): Promise<void> {
  const agent = await readAgentFacts(tx, chat.agent_id);
  if (agent === undefined) throw conflict(GONE);
  const reason = admissionRefusal(agent, proposalOf(chat, agent, { id: '', author_name: '', depth }));
  if (reason !== null) throw conflict(reason);
}

/**
 * Starts a reply to the oldest waiting message of the chat. Does nothing while a reply is in progress: this is called again
 * when it ends. If the agent may no longer answer, all waiting messages fail. Callers lock the chat's row if possible;
 * `sweepWaitingChats` finds what slips through.
 * @returns changes for the caller's `recordChanges`
 */
export async function answerNext(tx: Tx, actor: Actor, chat: ChatOf): Promise<Change[]> {
  const waiting = and(eq(chat_messages.chat_id, chat.id), eq(chat_messages.status, 'waiting'));
  const [next] = await tx
    .select()
    .from(chat_messages)
    .where(waiting)
    .orderBy(asc(chat_messages.position))
    .limit(1);
  if (next === undefined) return [];
  const agent = await readAgentFacts(tx, chat.agent_id);
  const { admitted, refused } =
    agent === undefined
      ? { admitted: [], refused: [{ reason: GONE }] }
      : await admitRuns(tx, actor, agent, [proposalOf(chat, agent, next)]);
  const [made] = admitted;
  const [refusal] = refused;
  if (made === undefined && refusal === undefined) return [];
  const rows = await tx
    .update(chat_messages)
    .set(
      made
        ? { status: 'answering', run_id: made.run.id }
        : { status: 'failed', error: inWords(refusal!.reason) },
    )
    .where(made ? eq(chat_messages.id, next.id) : waiting)
    .returning();
  return rows.map((row) => messageChange(chat, row));
}

const SWEPT = 100;

/** Finds messages that wait without a reply in progress in their chat, because an operation was interrupted. */
export async function sweepWaitingChats(tx: Tx): Promise<number> {
  const { rows } = await tx.execute<ChatOf & Record<string, unknown>>(sql`
    select c.id, c.agent_id, c.created_by_user_id from chats c
    where c.id in (select m.chat_id from chat_messages m where m.status = 'waiting')
      and not exists (select from heartbeat_runs r
        where r.live_key = 'chat:' || c.id and r.status in ${liveRunStatuses})
    limit ${SWEPT} for no key update of c skip locked`);
  const scheduler = systemActor('scheduler');
  for (const chat of rows) await recordChanges(tx, scheduler, await answerNext(tx, scheduler, chat));
  return rows.length;
}
