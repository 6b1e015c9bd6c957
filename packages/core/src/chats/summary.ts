import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { cutText, storableText } from '@acp/kernel';
import { and, eq, lt, sql } from 'drizzle-orm';
import { admitRuns, readAgentFacts, type RunRow } from '../runs/index.ts';
import type { ChatRow } from './present.ts';
import { conversationWindow, sizeInPrompt } from './window.ts';

const { chats } = schema;

export const CHAT_SUMMARY = 'chat_summary';

export const summaryKey = (chat_id: string) => `chat-summary:${chat_id}`;

// Shares of the conversation's part of the prompt, and messages. Started before the limit is reached, so that the summary is
// ready when it is needed.
const SUMMARISE_FROM = { share: 3 / 4, messages: 150 };
/** What is kept verbatim. */
const KEPT = { share: 1 / 4, messages: 50 };
/** At most what fits the prompt of a summary, with one more turn. */
const PORTION = { share: 11 / 16, messages: 180 };

/** Limit in bytes. */
const LONGEST = 12_000;

/**
 * Starts a run that summarises all but the latest messages if much was said since the last summary. Each message is
 * summarised only once: the next summary builds on this one.
 */
export async function proposeSummary(tx: Tx, actor: Actor, chat: ChatRow): Promise<void> {
  const { rows } = await tx.execute<{ share: number; messages: number; up_to: number | null }>(sql`
    with said as (
      select m.position, m.status, sum(part.share) over newest as after, count(*) over newest as messages_after,
        sum(part.share) over oldest as before, count(*) over oldest as messages_before
      from chat_messages m join agents a on a.id = ${chat.agent_id}
        cross join lateral (select ${sizeInPrompt}::float8 / ${conversationWindow}::float8 as share) part
      where m.chat_id = ${chat.id} and m.position > ${2 * chat.summary_turn + 1}
      window newest as (order by m.position desc), oldest as (order by m.position)
    )
    select coalesce(max(after), 0) as share, count(*)::int as messages,
      max(position) filter (where (after > ${KEPT.share} or messages_after > ${KEPT.messages})
        and before <= ${PORTION.share} and messages_before <= ${PORTION.messages}
        and status not in ('waiting', 'answering') and position < ${2 * chat.last_turn}) / 2 as up_to from said`);
  const { share, messages, up_to } = rows[0]!;
  if (up_to === null || (share < SUMMARISE_FROM.share && messages < SUMMARISE_FROM.messages)) return;
  const agent = await readAgentFacts(tx, chat.agent_id);
  if (agent === undefined) return;
  await admitRuns(tx, actor, agent, [
    {
      kind: CHAT_SUMMARY,
      subject_id: chat.id,
      issue_id: null,
      payload: { from_turn: chat.summary_turn, up_to_turn: up_to },
      private_to_user_id: chat.created_by_user_id,
      wake_reason: 'chat',
      trigger_detail: 'summary of what was said before',
      depth: 0,
      objection: null,
    },
  ]);
}

/** Stores the summary unless the messages it covers were removed in the meantime. */
export async function keepSummary(tx: Tx, run: RunRow, text: string | null): Promise<void> {
  const { from_turn, up_to_turn } = summaryPayload(run);
  const summary = cutText(storableText(text ?? ''), LONGEST).trim();
  if (run.subject_id === null || summary === '') return;
  await tx
    .update(chats)
    .set({ summary, summary_turn: up_to_turn })
    .where(
      and(
        eq(chats.id, run.subject_id),
        eq(chats.summary_turn, from_turn),
        lt(sql`${up_to_turn}::int`, chats.last_turn),
      ),
    );
}

/** @throws if the run was created by other code */
export function summaryPayload({ payload }: Pick<RunRow, 'payload'>): {
  from_turn: number;
  up_to_turn: number;
} {
  const { from_turn, up_to_turn } = payload;
  if (typeof from_turn !== 'number' || typeof up_to_turn !== 'number')
    throw new Error('a summary run names no turns');
  return { from_turn, up_to_turn };
}
