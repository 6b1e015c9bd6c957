import type { ChannelKind } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/** State of the instance's channels of one kind; does not reveal whose they are. */
interface ChannelFigures {
  kind: ChannelKind;
  connected: number;
  failing: number;
  /** Channels whose tokens are refused: up to their companies to fix, and no sign of a problem with this instance. */
  refused: number;
  connecting: number;
  /** The longest time in seconds since a channel last heard from the vendor, among those whose tokens are accepted. */
  silent_sec: number | null;
  /** Number of messages waiting to be sent. */
  pending: number;
}

/** A channel that does not work, with its company and the reason; for the operator only. */
interface BrokenChannel extends Record<string, unknown> {
  company: string;
  name: string;
  kind: ChannelKind;
  last_error: string | null;
}

/** Longest broken first. */
export async function listBrokenChannels(tx: Tx, limit: number): Promise<BrokenChannel[]> {
  const { rows } = await tx.execute<BrokenChannel>(sql`
    select c.slug as company, h.name, h.kind, h.last_error
    from channels h join companies c on c.id = h.company_id
    where h.enabled and c.deleted_at is null and h.status in ('failing', 'refused')
    order by h.failing_since, h.id limit ${limit}`);
  return rows;
}

/** Counts enabled channels of companies that are not in the trash. */
export async function readChannelFigures(tx: Tx): Promise<ChannelFigures[]> {
  const { rows } = await tx.execute<{ [K in keyof ChannelFigures]: ChannelFigures[K] }>(sql`
    select h.kind,
      count(*) filter (where h.status = 'connected')::int as connected,
      count(*) filter (where h.status = 'failing')::int as failing,
      count(*) filter (where h.status = 'refused')::int as refused,
      count(*) filter (where h.status = 'connecting')::int as connecting,
      max(extract(epoch from now() - greatest(h.last_seen_at, h.updated_at))) filter (where h.status <> 'refused')::float8 as silent_sec,
      coalesce(sum((select count(*) from channel_outbox o where o.channel_id = h.id and o.status = 'pending')), 0)::int as pending
    from channels h join companies c on c.id = h.company_id
    where h.enabled and c.deleted_at is null group by h.kind order by h.kind`);
  return rows;
}
