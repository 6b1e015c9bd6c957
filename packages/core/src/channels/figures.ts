import type { ChannelKind } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/** How the instance's channels of one kind are: no word of whose they are. */
export interface ChannelFigures {
  kind: ChannelKind;
  connected: number;
  failing: number;
  /** Their tokens are not taken: that is their companies' to mend, and says nothing of this instance. */
  refused: number;
  connecting: number;
  /** Of those whose tokens are taken: the seconds since anything came from the vendor to the one that heard last longest ago. */
  silent_sec: number | null;
  /** Messages that wait to be sent. */
  pending: number;
}

/** One that does not work, for the operator alone: whose it is, and why. */
export interface BrokenChannel extends Record<string, unknown> {
  company: string;
  name: string;
  kind: ChannelKind;
  last_error: string | null;
}

/** The longest broken first. */
export async function listBrokenChannels(tx: Tx, limit: number): Promise<BrokenChannel[]> {
  const { rows } = await tx.execute<BrokenChannel>(sql`
    select c.slug as company, h.name, h.kind, h.last_error
    from channels h join companies c on c.id = h.company_id
    where h.enabled and c.deleted_at is null and h.status in ('failing', 'refused')
    order by h.failing_since, h.id limit ${limit}`);
  return rows;
}

/** Those that are switched on, in companies that are not in the trash. */
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
