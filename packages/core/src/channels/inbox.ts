import { ChannelIncoming, createValidator } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { cutText, mapTexts, storableText } from '@acp/kernel';
import { and, asc, eq, lte, sql } from 'drizzle-orm';
import { type ChannelHold, lockHeld } from './holder.ts';

const { channel_inbox, channels } = schema;

const validate = createValidator(ChannelIncoming, 'incoming');

/** Maximum number of pending messages per channel: beyond it nothing more is accepted, and the vendor keeps it. */
const MOST_PENDING = 500;
/** Number of attempts after which a message is given up. */
const ATTEMPTS = 5;
const PAUSE_SEC = 2;
const TEXT_BYTES = 100_000;
const REFUSED_GROUPS = 10;

export interface StoredIncoming {
  id: string;
  incoming: ChannelIncoming;
}

/**
 * Stores incoming messages, once, before they are acknowledged to the vendor; Telegram's offset is stored in the same step.
 * Only allowed group conversations count; the most recent of the others are remembered. What a vendor may not send is dropped: kept
 * or sent again, it would hold up everything after it.
 * @returns false if nothing was stored: the lease is lost, or too many messages are pending
 */
export async function storeIncoming(
  tx: Tx,
  hold: ChannelHold,
  came: readonly ChannelIncoming[],
  update_offset: number | null = null,
): Promise<boolean> {
  const channel = await lockHeld(tx, hold);
  if (channel === undefined) return false;
  const readable = came.flatMap((each) => storable(each) ?? []);
  const counted = readable.filter(
    ({ kind, is_private, conversation }) =>
      is_private || kind === 'press' || channel.groups.includes(conversation),
  );
  if (counted.length > 0) {
    const waiting = await tx.$count(channel_inbox, pendingOf(hold.channel_id));
    if (waiting >= MOST_PENDING) return false;
    await tx
      .insert(channel_inbox)
      .values(
        counted.map((payload) => ({
          channel_id: hold.channel_id,
          external_id: payload.external_id,
          payload,
        })),
      )
      .onConflictDoNothing();
  }
  const refused = readable
    .filter((each) => !counted.includes(each))
    .map(({ conversation, title }) => ({ id: conversation, title: cutText(title, 200) }));
  if (update_offset === null && refused.length === 0) return true;
  const known = [...refused.toReversed(), ...channel.refused_groups];
  const refused_groups = known
    .filter((group, at) => known.findIndex(({ id }) => id === group.id) === at)
    .slice(0, REFUSED_GROUPS);
  await tx
    .update(channels)
    .set({
      ...(update_offset !== null && { update_offset: Math.max(update_offset, channel.update_offset) }),
      ...(refused.length > 0 && { refused_groups }),
    })
    .where(eq(channels.id, channel.id));
  return true;
}

/** As PostgreSQL can store it; undefined if it has not the shape that it is read with. */
function storable(incoming: ChannelIncoming): ChannelIncoming | undefined {
  try {
    const clean = validate(mapTexts(incoming, storableText));
    return { ...clean, text: cutText(clean.text, TEXT_BYTES) };
  } catch {
    return undefined;
  }
}

const pendingOf = (channel_id: string) =>
  and(eq(channel_inbox.channel_id, channel_id), eq(channel_inbox.status, 'pending'));

/** The next message to handle, not locked. Undefined if none is due. */
export async function nextIncoming(
  tx: Tx,
  { channel_id }: Pick<ChannelHold, 'channel_id'>,
): Promise<StoredIncoming | undefined> {
  const [row] = await tx
    .select({ id: channel_inbox.id, payload: channel_inbox.payload })
    .from(channel_inbox)
    .where(and(pendingOf(channel_id), lte(channel_inbox.next_attempt_at, sql`now()`)))
    .orderBy(asc(channel_inbox.seq))
    .limit(1);
  return row && { id: row.id, incoming: validate(row.payload) };
}

/** Must run in the transaction that handles the message. @returns false if someone else has handled it */
export async function finishIncoming(tx: Tx, id: string): Promise<boolean> {
  const done = await tx
    .update(channel_inbox)
    .set({ status: 'done', payload: null, next_attempt_at: null })
    .where(and(eq(channel_inbox.id, id), eq(channel_inbox.status, 'pending')))
    .returning({ id: channel_inbox.id });
  return done.length > 0;
}

/** Schedules another attempt after a pause, or gives up after the last one. */
export async function postponeIncoming(tx: Tx, id: string, error: string): Promise<void> {
  const over = sql`attempts + 1 >= ${ATTEMPTS}`;
  await tx.execute(sql`
    update channel_inbox set attempts = attempts + 1, error = ${cutText(storableText(error), 500)},
      status = case when ${over} then 'failed' else status end,
      payload = case when ${over} then null else payload end,
      next_attempt_at = case when ${over} then null else now() + make_interval(secs => ${PAUSE_SEC} * 2 ^ attempts) end
    where id = ${id} and status = 'pending'`);
}
