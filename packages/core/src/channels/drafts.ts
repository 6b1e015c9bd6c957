import { schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import type { SpokenEntry } from '@acp/contract';
import { type ChannelHold, heldBy } from './holder.ts';

const { channels } = schema;

/** A reply in progress, and where it is to appear. */
export interface GrowingReply extends Record<string, unknown> {
  question_id: string;
  run_id: string;
  user_id: string;
  conversation: string;
  thread: string;
  reply_to: string | null;
  /** The vendor's ids of the messages that show its beginning already. */
  parts: string[];
}

/** A position in a reply's transcript. */
export interface GrowthPosition {
  question_id: string;
  run_id: string;
  channel_id: string;
  user_id: string;
  after: number;
}

export interface Growth {
  /** New entries of the transcript, in order. */
  entries: SpokenEntry[];
  /** The number of the last one. */
  seq: number;
}

/** More text than one step could show. */
const MOST_ENTRIES = 5000;

/** The recipient is paired, active and in the company. */
export const paired = (channel_id: unknown, user_id: unknown) => sql`exists (
  select from chat_pairings p join users u on u.id = p.user_id and u.is_active
  join memberships m on m.user_id = p.user_id and m.company_id = p.company_id
  where p.channel_id = ${channel_id} and p.user_id = ${user_id} and p.revoked_at is null)`;

/** Replies in progress in the chats of a channel. The index of open questions is small: it holds those of live runs. */
export async function growingReplies(tx: Tx, { channel_id }: ChannelHold): Promise<GrowingReply[]> {
  const { rows } = await tx.execute<GrowingReply>(sql`
    select distinct on (m.id) m.id as question_id, m.run_id, t.user_id, t.conversation, t.thread, t.last_message as reply_to,
      coalesce(d.parts, '{}') as parts
    from chat_messages m join channel_threads t on t.chat_id = m.chat_id
    left join channel_drafts d on d.question_id = m.id and d.channel_id = t.channel_id
    where m.status = 'answering' and m.run_id is not null and t.channel_id = ${channel_id}
    order by m.id, t.updated_at desc`);
  return rows;
}

/**
 * What was said since the given positions, for any number of replies in one statement; by run. A reply missing from the answer has
 * ended, has been taken over by another run, or its reader may no longer read it.
 */
export async function readGrowth(tx: Tx, positions: readonly GrowthPosition[]): Promise<Map<string, Growth>> {
  if (positions.length === 0) return new Map();
  const { rows } = await tx.execute<
    { run_id: string; seq: number | null } & SpokenEntry & Record<string, unknown>
  >(sql`
    select q.run_id, e.seq, e.kind,
      case when e.kind = 'output' then e.payload else '{}' end as payload
    from jsonb_to_recordset(${JSON.stringify(positions)}::jsonb)
      as q(question_id uuid, run_id uuid, channel_id uuid, user_id uuid, after int)
    join chat_messages m on m.id = q.question_id and m.run_id = q.run_id and m.status = 'answering'
    join heartbeat_runs h on h.id = q.run_id
    left join lateral (
      select seq, kind, payload from run_events
      where run_id = h.id and part = h.transcript_part and seq > q.after and kind in ('output', 'action', 'prompt', 'status')
      order by seq limit ${MOST_ENTRIES}
    ) e on true
    where ${paired(sql`q.channel_id`, sql`q.user_id`)}
    order by q.run_id, e.seq`);
  const read = new Map<string, Growth>();
  for (const { run_id, seq, kind, payload } of rows) {
    const growth = read.get(run_id) ?? { entries: [], seq: 0 };
    read.set(run_id, growth);
    if (seq === null) continue;
    growth.entries.push({ kind, payload });
    growth.seq = seq;
  }
  return read;
}

/**
 * Records the messages that show a reply, before another one is sent: whoever takes the channel over goes on with them.
 * @returns false if the lease is lost
 */
export async function recordDraft(
  tx: Tx,
  hold: ChannelHold,
  question_id: string,
  parts: readonly string[],
): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    insert into channel_drafts (question_id, channel_id, parts)
    select m.id, ${hold.channel_id}, array(select value from jsonb_array_elements_text(${JSON.stringify(parts)}::jsonb))
    from chat_messages m where m.id = ${question_id} and exists (select from ${channels} where ${heldBy(hold)})
    on conflict (question_id) do update set parts = excluded.parts returning question_id`);
  return rows.length > 0;
}
