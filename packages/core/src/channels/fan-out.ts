import type { ApprovalSummary, ChatMessageEvent, IssueSummary, Notification } from '@acp/contract';
import { signal, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { advanceCursor, closeCursor, readCursor, type SequencedEvent } from '../events/index.ts';
import { plain } from './commands.ts';
import { approvalMessages, approvalOutcomes } from './approval-messages.ts';
import { CURSOR } from './cursor.ts';
import { type NewOutgoing, queueOutgoing } from './outbox.ts';
import { type EventOf, inPrivate, type Recipient } from './recipients.ts';

interface ChannelFanOut {
  /** There are more events to read. */
  more: boolean;
  /** At least one channel is enabled. */
  listening: boolean;
}

const BATCH = 200;

/**
 * Turns the next events into messages to paired people and advances the cursor with them: replies in chats that take place
 * in a channel, and the notifications that each person has chosen. Closes the cursor if no channel is enabled.
 * @returns undefined if the cursor is not open or another process is using it
 */
export async function fanOutToChannels(tx: Tx, public_url: string): Promise<ChannelFanOut | undefined> {
  const batch = await readCursor(tx, CURSOR, BATCH);
  if (batch === undefined) return undefined;
  const { events } = batch;
  if (events.length > 0) {
    const paired = await recipientsIn(tx, events);
    const messages = [
      ...(await replies(tx, ofType<ChatMessageEvent>(events, 'chat_message'))),
      ...(await approvalMessages(
        tx,
        ofType<ApprovalSummary>(events, 'approval_created'),
        paired,
        public_url,
      )),
      ...(await approvalOutcomes(tx, ofType<ApprovalSummary>(events, 'approval_resolved'))),
      ...attentionMessages(
        ofType<IssueSummary>(events, 'issue_updated', 'issue_created'),
        paired,
        public_url,
      ),
      ...alertMessages(ofType<Notification>(events, 'notification'), paired, public_url),
    ];
    await queueOutgoing(tx, messages);
  }
  if (!(await anyChannel(tx))) {
    await closeCursor(tx, CURSOR);
    return { more: false, listening: false };
  }
  await advanceCursor(tx, CURSOR, batch);
  return { more: events.length === BATCH, listening: true };
}

// Payloads were validated when they were published to the outbox.
const ofType = <T>(events: readonly SequencedEvent[], ...types: string[]): EventOf<T>[] =>
  events.filter(({ type }) => types.includes(type)).map((event) => ({ ...event, data: event.data as T }));

async function anyChannel(tx: Tx): Promise<boolean> {
  const { rows } = await tx.execute(sql`select from channels where enabled limit 1`);
  return rows.length > 0;
}

/** Paired people in the companies of the events; empty if no event belongs to a company. */
async function recipientsIn(tx: Tx, events: readonly SequencedEvent[]): Promise<Recipient[]> {
  const companies = [...new Set(events.flatMap(({ company_id }) => company_id ?? []))];
  if (companies.length === 0) return [];
  const { rows } = await tx.execute<Recipient>(sql`
    select p.channel_id, p.company_id, p.user_id, p.external_id, m.role, p.notify from chat_pairings p
    join channels h on h.id = p.channel_id and h.enabled
    join users u on u.id = p.user_id and u.is_active
    join memberships m on m.user_id = p.user_id and m.company_id = p.company_id
    where p.revoked_at is null and p.notify <> '{}'
      and p.company_id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(companies)}::jsonb))`);
  return rows;
}

interface Thread extends Record<string, unknown> {
  /** The message that the event is about. */
  message_id: string;
  status: string;
  question_id: string | null;
  /** A question whose reply is a message of its own, such as one that was stopped halfway. */
  has_reply: boolean;
  channel_id: string;
  user_id: string;
  conversation: string;
  thread: string;
  last_message: string | null;
}

/** States of a question that people in a channel are shown. */
const statesShown: ReadonlySet<string> = new Set(['answering', 'stopped', 'failed']);

/**
 * Replies to messages, sent to the conversation that the message came from. A reply that has just begun is announced to the
 * channel's holder, which shows it as it grows.
 */
async function replies(tx: Tx, events: readonly EventOf<ChatMessageEvent>[]): Promise<NewOutgoing[]> {
  const concerned = inOrder(
    events.filter(({ data: { role, status } }) => role === 'assistant' || statesShown.has(status)),
  );
  const threads = await threadsOf(tx, [...new Set(concerned.map(({ data }) => data.id))]);
  return concerned.flatMap(({ data }): NewOutgoing[] => {
    const thread = threads.get(data.id);
    if (thread === undefined) return [];
    const { channel_id, user_id, conversation, thread: in_thread, last_message: reply_to } = thread;
    const { question_id, has_reply, status } = thread;
    const place = { channel_id, user_id, conversation, thread: in_thread, reply_to };
    if (data.role === 'assistant')
      return [
        { ...place, kind: 'reply', dedupe_key: `reply:${data.id}`, chat_message_id: data.id, question_id },
      ];
    if (data.status === 'answering') {
      signal(tx, 'channels', channel_id);
      return [];
    }
    const body =
      data.status === 'stopped' ? 'Stopped.' : `There is no reply: ${plain(data.error ?? 'it failed')}`;
    const again = data.run_id ?? 'none';
    // Asked again in the meantime, it has another reply in progress.
    const replaces = has_reply || status !== data.status ? null : question_id;
    return [
      {
        ...place,
        kind: 'notice',
        dedupe_key: `${data.status}:${data.id}:${again}`,
        body,
        question_id: replaces,
      },
    ];
  });
}

/** "Stopped." follows what had been said by then, which is the next event if there is any. */
function inOrder(events: readonly EventOf<ChatMessageEvent>[]): EventOf<ChatMessageEvent>[] {
  const isStop = ({ data }: EventOf<ChatMessageEvent>) => data.role === 'user' && data.status === 'stopped';
  return events
    .map((event, at) => ({ event, at: isStop(event) ? at + 1.5 : at }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ event }) => event);
}

/** By message: where its chat takes place; messages of other chats are missing. */
async function threadsOf(tx: Tx, messages: readonly string[]): Promise<Map<string, Thread>> {
  if (messages.length === 0) return new Map();
  const { rows } = await tx.execute<Thread>(sql`
    select distinct on (m.id) m.id as message_id, m.status, t.channel_id, t.user_id, t.conversation, t.thread, t.last_message,
      case when m.role = 'user' then m.id else n.id end as question_id, m.role = 'user' and n.id is not null as has_reply
    from jsonb_array_elements_text(${JSON.stringify(messages)}::jsonb) as named(id)
    join chat_messages m on m.id = named.id::uuid
    join channel_threads t on t.chat_id = m.chat_id join channels h on h.id = t.channel_id and h.enabled
    left join chat_messages n on n.chat_id = m.chat_id
      and n.position = m.position + case when m.role = 'user' then 1 else -1 end
    order by m.id, t.updated_at desc`);
  return new Map(rows.map((row) => [row.message_id, row]));
}

/** Issues that wait for a person: each at most once a day. */
function attentionMessages(
  events: readonly EventOf<IssueSummary>[],
  paired: readonly Recipient[],
  public_url: string,
): NewOutgoing[] {
  const recipients = paired.filter(({ notify }) => notify.includes('attention'));
  return events
    .filter(({ data }) => data.awaiting_input || data.needs_human_attention)
    .flatMap(({ data, occurred_at }) => {
      const day = new Date(occurred_at).toISOString().slice(0, 10);
      const what = data.awaiting_input ? 'waits for an answer' : 'needs a person’s attention';
      return recipients
        .filter(({ company_id }) => company_id === data.company_id)
        .map((to) => ({
          ...inPrivate(to),
          kind: 'notice',
          dedupe_key: `attention:${data.id}:${day}:${to.user_id}`,
          body: `**${plain(data.identifier ?? 'An issue')}** ${what}: ${plain(data.title)}\n\n${public_url}/issues/${data.id}`,
        }));
    });
}

/** Alerts of the company, for its admins. */
function alertMessages(
  events: readonly EventOf<Notification>[],
  paired: readonly Recipient[],
  public_url: string,
): NewOutgoing[] {
  const recipients = paired.filter(({ notify, role }) => notify.includes('alerts') && role === 'admin');
  return events
    .filter(({ company_id, data }) => company_id !== null && data.entity_type === 'alert')
    .flatMap(({ id, company_id, data }) =>
      recipients
        .filter((to) => to.company_id === company_id)
        .map((to) => ({
          ...inPrivate(to),
          kind: 'notice',
          dedupe_key: `alert:${id}:${to.user_id}`,
          body: `**Alert:** ${plain(data.message)}\n\n${public_url}/companies/${to.company_id}/alerts`,
        })),
    );
}
