import { schema, storedNow, type Tx } from '@acp/db';
import { cutText, storableText } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { paired } from './drafts.ts';
import { type ChannelHold, heldBy } from './holder.ts';

const { channels } = schema;

/** A message that is due, with its content. */
export interface DueOutgoing extends Record<string, unknown> {
  id: string;
  conversation: string;
  thread: string;
  kind: 'notice' | 'reply' | 'approval' | 'outcome';
  /** Null: there is nothing left to say. */
  body: string | null;
  reply_to: string | null;
  sent_parts: number;
  attempts: number;
  /** The recipient is paired, active and in the company. */
  allowed: boolean;
  /** For an outcome: the vendor's ID of the message with the buttons; null if that was never sent. */
  changes: string | null;
  /** The question that it answers. */
  question_id: string | null;
  /** The vendor's ids of the messages that show its beginning; `recordDraft`. */
  parts: string[];
}

const KEEP_TRYING = sql`interval '1 day'`;
const FIRST_PAUSE_SEC = 2;
const LAST_PAUSE_SEC = 900;

/**
 * The messages to send next, in order; within a conversation, none that is queued behind one waiting for a retry. A private
 * message is sent only to the identity that is paired now.
 */
export async function dueOutgoing(
  tx: Tx,
  { channel_id }: ChannelHold,
  limit: number,
): Promise<DueOutgoing[]> {
  const { rows } = await tx.execute<DueOutgoing>(sql`
    select o.id, o.conversation, o.thread, o.kind, o.sent_parts, o.attempts, o.question_id,
      coalesce((select d.parts from channel_drafts d where d.question_id = o.question_id and d.channel_id = o.channel_id), '{}') as parts,
      case when o.kind = 'outcome' then null else o.reply_to end as reply_to,
      case when o.chat_message_id is null then o.body else (select m.body_markdown from chat_messages m where m.id = o.chat_message_id) end as body,
      case when o.kind = 'outcome' then (select a.external_id from channel_outbox a where a.id = o.reply_to::uuid) end as changes,
      o.user_id is null or ${paired(sql`o.channel_id`, sql`o.user_id`)} as allowed
    from channel_outbox o
    where o.channel_id = ${channel_id} and o.status = 'pending' and o.next_attempt_at <= ${storedNow}
      and not exists (select from channel_outbox e where e.channel_id = o.channel_id and e.status = 'pending'
        and e.conversation = o.conversation and e.seq < o.seq and e.next_attempt_at > ${storedNow})
      and case when o.kind = 'outcome' then not exists (
        select from channel_outbox a where a.id = o.reply_to::uuid and a.status = 'pending') else true end
    order by o.seq limit ${limit}`);
  return rows;
}

/** Records that a piece was sent; called before the next one is sent. @returns false if the lease is lost */
export async function recordPiece(
  tx: Tx,
  hold: ChannelHold,
  id: string,
  sent_parts: number,
  external_id: string | null,
): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    update channel_outbox set sent_parts = ${sent_parts}, external_id = coalesce(external_id, ${external_id})
    where id = ${id} and status = 'pending' and exists (select from ${channels} where ${heldBy(hold)}) returning id`);
  return rows.length > 0;
}

/** Records the outcome: without an error it was sent; a hopeless one is not retried. */
export async function recordOutcome(
  tx: Tx,
  hold: ChannelHold,
  id: string,
  {
    error,
    hopeless = false,
    pause_sec = null,
  }: { error: string | null; hopeless?: boolean; pause_sec?: number | null },
): Promise<void> {
  const over = sql`(${error === null || hopeless}::boolean or created_at < now() - ${KEEP_TRYING})`;
  const said = error === null ? null : cutText(storableText(error), 500);
  const pause = sql`greatest(${pause_sec ?? 0}, least(${LAST_PAUSE_SEC}, ${FIRST_PAUSE_SEC} * 2 ^ least(attempts, 20)))`;
  await tx.execute(sql`
    with recorded as (
      update channel_outbox set attempts = attempts + 1, error = ${said},
        status = case when ${over} then ${error === null ? 'sent' : 'failed'} else status end,
        finished_at = case when ${over} then now() end,
        next_attempt_at = case when ${over} then null else now() + make_interval(secs => ${pause}) end
      where id = ${id} and status = 'pending' and exists (select from ${channels} where ${heldBy(hold)})
      returning question_id, finished_at
    )
    delete from channel_drafts d using recorded r where d.question_id = r.question_id and r.finished_at is not null`);
}

/** Milliseconds until the next message is due; null: none is pending. */
export async function nextOutgoingIn(tx: Tx, { channel_id }: ChannelHold): Promise<number | null> {
  const { rows } = await tx.execute<{ in_ms: number | null }>(sql`
    select (extract(epoch from min(next_attempt_at) - now()) * 1000)::float8 as in_ms
    from channel_outbox where channel_id = ${channel_id} and status = 'pending'`);
  return rows[0]?.in_ms ?? null;
}
