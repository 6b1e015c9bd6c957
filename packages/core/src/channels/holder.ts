import type { ChannelStatus } from '@acp/contract';
import { schema, storedNow, type Tx } from '@acp/db';
import { cutText, storableText } from '@acp/kernel';
import { and, eq, inArray, sql } from 'drizzle-orm';
import type { ChannelRow } from './present.ts';

const { channels } = schema;

/** A scheduler's lease on a channel, lost once the fence has changed. */
export interface ChannelHold {
  channel_id: string;
  held_by: string;
  fence: number;
}

/** What a holder knows about its connection. */
export interface ChannelState {
  /** Revision of the row it was connected with; the state says nothing about any other. */
  revision: number;
  status: ChannelStatus;
  last_error: string | null;
  last_seen_at: Date | null;
  bot_id: string | null;
  bot_name: string | null;
}

const ERROR_BYTES = 500;
/** Channels of a company in the trash are checked again after this. */
const PUT_OFF = sql`interval '1 hour'`;

/** Claims channels without a holder, those unheld the longest first. */
export async function claimChannels(
  tx: Tx,
  held_by: string,
  lease_sec: number,
  limit: number,
): Promise<ChannelRow[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    with free as materialized (
      select h.id, c.deleted_at is null as alive from channels h join companies c on c.id = h.company_id
      where h.enabled and h.lease_until <= ${storedNow}
      order by h.lease_until limit ${limit} for no key update of h skip locked
    ), put_off as (
      update channels set held_by = null, lease_until = now() + ${PUT_OFF} from free where channels.id = free.id and not free.alive
    )
    update channels set held_by = ${held_by}, lease_until = now() + make_interval(secs => ${lease_sec}), fence = fence + 1
    from free where channels.id = free.id and free.alive returning channels.id`);
  const ids = rows.map(({ id }) => id);
  return ids.length === 0 ? [] : tx.select().from(channels).where(inArray(channels.id, ids));
}

/**
 * Renews all leases of a scheduler in one statement and stores the reported state of each. A channel missing from the answer
 * is lost, disabled or in the trash: its connection must be closed. @returns by ID, the revision of the row and the version of
 * the company's list of hosts: a higher one requires reconnecting
 */
export async function renewChannels(
  tx: Tx,
  holds: readonly (ChannelHold & ChannelState)[],
  lease_sec: number,
): Promise<Map<string, { revision: number; egress_version: number }>> {
  if (holds.length === 0) return new Map();
  const reported = holds.map(({ last_error, ...hold }) => ({
    ...hold,
    last_error: last_error === null ? null : cutText(storableText(last_error), ERROR_BYTES),
  }));
  const { rows } = await tx.execute<{ id: string; revision: number; egress_version: number }>(sql`
    update channels h set lease_until = now() + make_interval(secs => ${lease_sec}),
      status = case when n.revision = h.revision then n.status else h.status end,
      last_error = case when n.revision = h.revision then n.last_error else h.last_error end,
      failing_since = case when n.revision <> h.revision then h.failing_since
        when n.status in ('failing', 'refused') then coalesce(h.failing_since, now()) end,
      last_seen_at = greatest(h.last_seen_at, n.last_seen_at),
      -- Each bot counts its own updates.
      update_offset = case when n.bot_id <> h.bot_id then 0 else h.update_offset end,
      bot_id = coalesce(n.bot_id, h.bot_id), bot_name = coalesce(n.bot_name, h.bot_name)
    from jsonb_to_recordset(${JSON.stringify(reported)}::jsonb) as n(channel_id uuid, held_by text, fence bigint,
        revision int, status text, last_error text, last_seen_at timestamptz, bot_id text, bot_name text)
      join channels k on k.id = n.channel_id join companies c on c.id = k.company_id
    where h.id = n.channel_id and h.fence = n.fence and h.held_by = n.held_by and h.enabled and c.deleted_at is null
    returning h.id, h.revision,
      coalesce((select e.version from company_egress e where e.company_id = h.company_id), 0) as egress_version`);
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}

/** Releases a channel that is no longer connected here: anyone may claim it. */
export async function releaseChannel(tx: Tx, hold: ChannelHold): Promise<void> {
  await tx
    .update(channels)
    .set({ held_by: null, lease_until: sql`now()` })
    .where(heldBy(hold));
}

export const heldBy = ({ channel_id, held_by, fence }: ChannelHold) =>
  and(eq(channels.id, channel_id), eq(channels.held_by, held_by), eq(channels.fence, fence));

/** Locks the channel until the end of the transaction. Undefined if the lease is lost or the channel is disabled. */
export async function lockHeld(tx: Tx, hold: ChannelHold): Promise<ChannelRow | undefined> {
  const [row] = await tx
    .select()
    .from(channels)
    .where(and(heldBy(hold), eq(channels.enabled, true)))
    .for('no key update');
  return row;
}
