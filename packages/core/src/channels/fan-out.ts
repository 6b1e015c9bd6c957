import type { ApprovalSummary, ChatMessageEvent, IssueSummary, Notification } from '@acp/contract';
import { signal, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { advanceCursor, closeCursor, readCursor, type SequencedEvent } from '../events/index.ts';
import { plain } from './commands.ts';
import { CURSOR } from './cursor.ts';
import { type NewOutgoing, queueOutgoing } from './outbox.ts';

interface ChannelFanOut {
  /** There are more events to read. */
  more: boolean;
  /** At least one channel is enabled. */
  listening: boolean;
}

const BATCH = 200;
/** Maximum characters of an approval's text; the page shows all of it. */
const SHOWN = 2500;

/** A person who may be notified, with the kinds of news chosen. */
interface Listener extends Record<string, unknown> {
  channel_id: string;
  company_id: string;
  user_id: string;
  external_id: string;
  role: string;
  notify: string[];
}

/**
 * Turns the next events into messages to paired people and advances the cursor with them: replies in chats that take place
 * in a channel, and the news that each person has chosen. Closes the cursor if no channel is enabled.
 * @returns undefined if the cursor is not open or another process is using it
 */
export async function fanOutToChannels(tx: Tx, public_url: string): Promise<ChannelFanOut | undefined> {
  const batch = await readCursor(tx, CURSOR, BATCH);
  if (batch === undefined) return undefined;
  const { events } = batch;
  if (events.length > 0) {
    const listeners = await listenersOf(tx, events);
    const news = [
      ...(await replies(tx, ofType<ChatMessageEvent>(events, 'chat_message'))),
      ...(await approvalNews(tx, ofType<ApprovalSummary>(events, 'approval_created'), listeners, public_url)),
      ...(await outcomes(tx, ofType<ApprovalSummary>(events, 'approval_resolved'))),
      ...attention(ofType<IssueSummary>(events, 'issue_updated', 'issue_created'), listeners, public_url),
      ...alerts(ofType<Notification>(events, 'notification'), listeners, public_url),
    ];
    await queueOutgoing(tx, news);
  }
  if (!(await anyChannel(tx))) {
    await closeCursor(tx, CURSOR);
    return { more: false, listening: false };
  }
  await advanceCursor(tx, CURSOR, batch);
  return { more: events.length === BATCH, listening: true };
}

type Told<T> = Pick<SequencedEvent, 'id' | 'company_id' | 'occurred_at'> & { data: T };

// Payloads were validated when they were published to the outbox.
const ofType = <T>(events: readonly SequencedEvent[], ...types: string[]): Told<T>[] =>
  events.filter(({ type }) => types.includes(type)).map((event) => ({ ...event, data: event.data as T }));

async function anyChannel(tx: Tx): Promise<boolean> {
  const { rows } = await tx.execute(sql`select from channels where enabled limit 1`);
  return rows.length > 0;
}

/** Paired people in the companies of the events; empty if none of the events is news. */
async function listenersOf(tx: Tx, events: readonly SequencedEvent[]): Promise<Listener[]> {
  const companies = [...new Set(events.flatMap(({ company_id }) => company_id ?? []))];
  if (companies.length === 0) return [];
  const { rows } = await tx.execute<Listener>(sql`
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
async function replies(tx: Tx, events: readonly Told<ChatMessageEvent>[]): Promise<NewOutgoing[]> {
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
function inOrder(events: readonly Told<ChatMessageEvent>[]): Told<ChatMessageEvent>[] {
  const isStop = ({ data }: Told<ChatMessageEvent>) => data.role === 'user' && data.status === 'stopped';
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
    from jsonb_array_elements_text(${JSON.stringify(messages)}::jsonb) as told(id)
    join chat_messages m on m.id = told.id::uuid
    join channel_threads t on t.chat_id = m.chat_id join channels h on h.id = t.channel_id and h.enabled
    left join chat_messages n on n.chat_id = m.chat_id
      and n.position = m.position + case when m.role = 'user' then 1 else -1 end
    order by m.id, t.updated_at desc`);
  return new Map(rows.map((row) => [row.message_id, row]));
}

interface AskedApproval extends Record<string, unknown> {
  id: string;
  company_id: string;
  type: string;
  title: string;
  description: string | null;
  payload: Record<string, unknown>;
  updated_at: Date;
  asked_by: string | null;
}

/** Sent to members and admins who want it: in private, in the approval's current state, with buttons. */
async function approvalNews(
  tx: Tx,
  events: readonly Told<ApprovalSummary>[],
  listeners: readonly Listener[],
  public_url: string,
): Promise<NewOutgoing[]> {
  const told = listeners.filter(({ role, notify }) => notify.includes('approvals') && role !== 'viewer');
  if (events.length === 0 || told.length === 0) return [];
  const ids = [...new Set(events.map(({ data }) => data.id))];
  const { rows } = await tx.execute<AskedApproval>(sql`
    select a.id, a.company_id, a.type, a.title, a.description, a.payload, a.updated_at,
      coalesce(g.name, u.display_name) as asked_by
    from approvals a left join agents g on g.id = a.requested_by_agent_id left join users u on u.id = a.requested_by_user_id
    where a.status = 'pending'
      and a.id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb))`);
  return rows.flatMap((approval) => {
    const version = new Date(approval.updated_at);
    return told
      .filter(({ company_id }) => company_id === approval.company_id)
      .map((to) => ({
        ...inPrivate(to),
        kind: 'approval',
        dedupe_key: `approval:${approval.id}:${version.getTime()}:${to.user_id}`,
        body: approvalText(approval, public_url),
        approval_id: approval.id,
        approval_version: version,
      }));
  });
}

function approvalText(
  { id, type, title, description, payload, asked_by }: AskedApproval,
  public_url: string,
): string {
  const asked = Object.keys(payload).length === 0 ? '' : JSON.stringify(payload, null, 1);
  const parts = [
    `**Approval: ${plain(title)}**`,
    `${plain(type.replaceAll('_', ' '))}, asked for by ${plain(asked_by ?? 'somebody')}`,
    plain(cut(description ?? '')),
    asked === '' ? '' : `\`\`\`\n${cut(asked).replaceAll('```', "'''")}\n\`\`\``,
    `${public_url}/approvals/${id}`,
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

const cut = (text: string): string =>
  text.length <= SHOWN ? text : `${text.slice(0, SHOWN).toWellFormed()} … (cut: the page has it all)`;

/** Updates messages that still show buttons with the decision, wherever it was made. */
async function outcomes(tx: Tx, events: readonly Told<ApprovalSummary>[]): Promise<NewOutgoing[]> {
  if (events.length === 0) return [];
  const ended = new Map(events.map(({ data }) => [data.id, data]));
  const { rows } = await tx.execute<{
    id: string;
    channel_id: string;
    user_id: string;
    conversation: string;
    thread: string;
    body: string | null;
    approval_id: string;
    decided_by: string | null;
  }>(sql`
    select o.id, o.channel_id, o.user_id, o.conversation, o.thread, o.body, o.approval_id,
      u.display_name as decided_by
    from channel_outbox o join approvals a on a.id = o.approval_id left join users u on u.id = a.decided_by_user_id
    where o.kind = 'approval' and o.status <> 'failed'
      and o.approval_id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify([...ended.keys()])}::jsonb))`);
  return rows.map(({ id, body, decided_by, ...place }) => {
    const { status } = ended.get(place.approval_id)!;
    const by = decided_by === null ? '' : ` by ${plain(decided_by)}`;
    const title = (body ?? '').split('\n', 1)[0] ?? '';
    return {
      ...place,
      kind: 'outcome',
      dedupe_key: `outcome:${id}:${status}`,
      reply_to: id,
      body: `${title}\n\n${plain(status.replaceAll('_', ' '))}${by}`,
    };
  });
}

/** Issues that wait for a person: each at most once a day. */
function attention(
  events: readonly Told<IssueSummary>[],
  listeners: readonly Listener[],
  public_url: string,
): NewOutgoing[] {
  const told = listeners.filter(({ notify }) => notify.includes('attention'));
  return events
    .filter(({ data }) => data.awaiting_input || data.needs_human_attention)
    .flatMap(({ data, occurred_at }) => {
      const day = new Date(occurred_at).toISOString().slice(0, 10);
      const what = data.awaiting_input ? 'waits for an answer' : 'needs a person’s attention';
      return told
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
function alerts(
  events: readonly Told<Notification>[],
  listeners: readonly Listener[],
  public_url: string,
): NewOutgoing[] {
  const told = listeners.filter(({ notify, role }) => notify.includes('alerts') && role === 'admin');
  return events
    .filter(({ company_id, data }) => company_id !== null && data.entity_type === 'alert')
    .flatMap(({ id, company_id, data }) =>
      told
        .filter((to) => to.company_id === company_id)
        .map((to) => ({
          ...inPrivate(to),
          kind: 'notice',
          dedupe_key: `alert:${id}:${to.user_id}`,
          body: `**Alert:** ${plain(data.message)}\n\n${public_url}/companies/${to.company_id}/alerts`,
        })),
    );
}

/** The ID of a private conversation with a bot is the person's ID, in both Slack and Telegram. */
const inPrivate = ({ channel_id, user_id, external_id }: Listener) => ({
  channel_id,
  user_id,
  conversation: external_id,
});
