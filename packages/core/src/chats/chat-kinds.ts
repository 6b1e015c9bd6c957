import { schema, type Tx } from '@acp/db';
import { cutText, isUuid, storableText, stated } from '@acp/kernel';
import { and, eq, getTableColumns, inArray, sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { hasRole } from '../companies/index.ts';
import {
  eachAlone,
  type EndedRun,
  clearRunContent,
  type KindChanges,
  type RunKind,
  type RunRow,
} from '../runs/index.ts';
import { answerNext, CHAT_REPLY, chatKey } from './answer-next.ts';
import { type ChatMessageRow, type ChatRow, messageChange } from './present.ts';
import { CHAT_SUMMARY, keepSummary, proposeSummary, summaryKey } from './summary.ts';
import { titleOf } from './title.ts';

const { chats, chat_messages } = schema;
const scheduler = systemActor('scheduler');

// Limits in bytes: the maximum that the schema of a text permits; that of a run’s error.
const REPLY = 1_000_000;
const ERROR = 4000;

const ofChat = {
  subject: { type: 'chat', table: 'chats' },
  audience: ({ subject_id }: Pick<RunRow, 'subject_id'>) => ({
    topic: subject_id === null ? null : (`chat:${subject_id}` as const),
    admins_only: false,
  }),
} satisfies Partial<RunKind>;

/** A run in which the agent answers one message of a chat. */
export const chatReplyKind: RunKind = {
  ...ofChat,
  name: CHAT_REPLY,
  liveKey: ({ subject_id }) => (subject_id === null ? null : chatKey(subject_id)),
  retries: true,
  begin: eachAlone(async (tx, run) => {
    const asked = await askedBy(tx, run);
    if (asked === undefined) return refused(stated('the message is gone'));
    if (asked.may_ask) return { changes: [] };
    await failAsked(tx, asked, NOT_ALLOWED);
    return refused(NOT_ALLOWED);
  }),
  end: endReply,
  cancelQueued: stopUnstarted,
  retry: async (tx, { run }, admit) => {
    const again = await admit(null);
    if (again === undefined) return false;
    await tx.update(chat_messages).set({ run_id: again.id }).where(eq(chat_messages.run_id, run.id));
    return true;
  },
};

/** Summarises what no longer fits the prompt's window, once. */
export const chatSummaryKind: RunKind = {
  ...ofChat,
  name: CHAT_SUMMARY,
  liveKey: ({ subject_id }) => (subject_id === null ? null : summaryKey(subject_id)),
  // No one sees these frames: the page of the chat shows its replies.
  audience: () => ({ topic: null, admins_only: false }),
  retries: true,
  end: async (tx, { run, subject, result }) => {
    if (subject === null) await clearRunContent(tx, run.subject_id);
    else if (run.status === 'succeeded') await keepSummary(tx, run, result.text);
    return { changes: [] };
  },
};

/** The message that the run answers; undefined if it was removed or belongs to another run by now. */
async function askedBy(tx: Tx, run: RunRow): Promise<(ChatMessageRow & { may_ask: boolean }) | undefined> {
  const { message_id } = run.payload;
  if (typeof message_id !== 'string' || !isUuid(message_id)) return undefined;
  const { author_user_id, company_id } = chat_messages;
  // A message may have waited for long: nothing is done on behalf of someone who may not ask for it any more.
  const may_ask = sql<boolean>`${author_user_id} is null or ${hasRole(author_user_id, company_id, 'member')}`;
  const [row] = await tx
    .select({ ...getTableColumns(chat_messages), may_ask })
    .from(chat_messages)
    .where(
      and(
        eq(chat_messages.id, message_id),
        eq(chat_messages.run_id, run.id),
        eq(chat_messages.status, 'answering'),
      ),
    );
  return row;
}

const NOT_ALLOWED = stated('whoever requested it may no longer do so');

/** For a run that does not begin, and so has no end. What waits behind the message is found by `sweepWaitingChats`. */
async function failAsked(tx: Tx, { id, chat_id }: ChatMessageRow, error: string): Promise<void> {
  const [row] = await tx
    .update(chat_messages)
    .set({ status: 'failed', error })
    .where(eq(chat_messages.id, id))
    .returning();
  const [chat] = await tx.select().from(chats).where(eq(chats.id, chat_id));
  if (row && chat) await recordChanges(tx, scheduler, [messageChange(chat, row)]);
}

const refused = (message: string) => ({ refused: { message, category: 'conflict' as const } });

/** Stores the reply, or why there is none, and starts the next one. */
async function endReply(tx: Tx, ended: EndedRun): Promise<KindChanges> {
  const { run, retried } = ended;
  const [chat] =
    run.subject_id === null ? [] : await tx.select().from(chats).where(eq(chats.id, run.subject_id));
  if (chat === undefined) {
    // The chat was deleted in the meantime: nothing of it is kept.
    await clearRunContent(tx, run.subject_id);
    return { changes: [] };
  }
  if (retried) return { changes: [] };
  const asked = await askedBy(tx, run);
  const changes = asked === undefined ? [] : await writeReply(tx, chat, asked, ended);
  const next = await answerNext(tx, scheduler, chat);
  if (run.status === 'succeeded') await proposeSummary(tx, scheduler, chat);
  return { changes: [...changes, ...next] };
}

async function writeReply(
  tx: Tx,
  chat: ChatRow,
  asked: ChatMessageRow,
  { run, result, actor }: EndedRun,
): Promise<Change[]> {
  const text = replyText(run, result);
  const status = run.status === 'succeeded' ? 'answered' : run.status === 'cancelled' ? 'stopped' : 'failed';
  // The run's own error is shown to others, too, and says less.
  const reason = cutText(result.failure?.message ?? run.error ?? 'the reply failed', ERROR);
  const [question] = await tx
    .update(chat_messages)
    .set({ status, error: status === 'failed' ? reason : null })
    .where(eq(chat_messages.id, asked.id))
    .returning();
  const reply =
    text === null ? undefined : await insertReply(tx, chat, asked, { text, status, run, name: actor.name });
  const title = chat.title ?? (text === null ? null : titleOf(asked.body_markdown, text));
  await tx
    .update(chats)
    .set({ title, updated_at: sql`clock_timestamp()` })
    .where(eq(chats.id, chat.id));
  return [question, reply].filter((row) => row !== undefined).map((row) => messageChange(chat, row));
}

/** For a stopped reply, what had been said by then; null if it failed or was stopped before its first word. */
function replyText(run: RunRow, { text, partial }: EndedRun['result']): string | null {
  const said = run.status === 'cancelled' ? [text, partial].filter(Boolean).join('\n\n') : (text ?? '');
  if (run.status === 'failed' || (run.status === 'cancelled' && said === '')) return null;
  return cutText(storableText(said), REPLY).trim();
}

async function insertReply(
  tx: Tx,
  chat: ChatRow,
  asked: ChatMessageRow,
  { text, status, run, name }: { text: string; status: string; run: RunRow; name: string },
): Promise<ChatMessageRow | undefined> {
  const [row] = await tx
    .insert(chat_messages)
    .values({
      company_id: chat.company_id,
      chat_id: chat.id,
      position: asked.position + 1,
      role: 'assistant',
      body_markdown: text,
      author_agent_id: run.agent_id,
      author_name: name,
      status,
      run_id: run.id,
    })
    .returning();
  return row;
}

/** Handles runs cancelled before they started: stops their messages and starts the next replies. */
async function stopUnstarted(tx: Tx, runs: readonly RunRow[]): Promise<void> {
  const stopped = await tx
    .update(chat_messages)
    .set({ status: 'stopped' })
    .where(
      and(
        inArray(
          chat_messages.run_id,
          runs.map(({ id }) => id),
        ),
        eq(chat_messages.status, 'answering'),
      ),
    )
    .returning();
  if (stopped.length === 0) return;
  const concerned = await tx
    .select()
    .from(chats)
    .where(inArray(chats.id, [...new Set(stopped.map(({ chat_id }) => chat_id))]));
  const byId = new Map(concerned.map((chat) => [chat.id, chat]));
  const changes = stopped.map((row) => messageChange(byId.get(row.chat_id)!, row));
  for (const chat of concerned) changes.push(...(await answerNext(tx, scheduler, chat)));
  await recordChanges(tx, scheduler, changes);
}
