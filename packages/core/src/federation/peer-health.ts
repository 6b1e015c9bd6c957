import type { PeerAgent } from '@acp/contract';
import { schema, signal, storedNow, type Tx } from '@acp/db';
import { rateLimited } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import type { PeerRow } from './peers.ts';

const { a2a_peers } = schema;

/**
 * Claims peers whose card is due and schedules the next refresh: if the claimer crashes, the card is fetched after the usual
 * interval. Peers of a company in the trash are postponed by an hour.
 * @param except companies that have reached their limit of concurrent fetches
 */
export async function claimDuePeers(
  tx: Tx,
  limit: number,
  except: readonly string[] = [],
): Promise<{ id: string; company_id: string }[]> {
  const { rows } = await tx.execute<{ id: string; company_id: string; alive: boolean }>(sql`
    with due as materialized (
      select p.id, c.deleted_at is null as alive from a2a_peers p join companies c on c.id = p.company_id
      where p.enabled and p.next_refresh_at <= ${storedNow} and p.company_id <> all(${sql.param(except)}::uuid[])
      order by p.next_refresh_at limit ${limit}
      for no key update of p skip locked
    )
    update a2a_peers p set next_refresh_at = now()
      + case when alive then make_interval(secs => refresh_interval_seconds) else interval '1 hour' end
    from due where p.id = due.id
    returning p.id, p.company_id, alive`);
  return rows.filter(({ alive }) => alive);
}

const LONGEST_ERROR = 500;

/**
 * Records the result of fetching the card. Reports a peer that starts or stops failing. The card of an address that the peer has
 * left in the meantime says nothing about the new one.
 */
export async function recordFetch(
  tx: Tx,
  peer: PeerRow,
  outcome: { agents: readonly PeerAgent[] } | { error: string },
): Promise<void> {
  const failed = 'error' in outcome;
  const status = failed ? 'failing' : 'healthy';
  const error = failed ? outcome.error.slice(0, LONGEST_ERROR) : null;
  const { rowCount } = await tx
    .update(a2a_peers)
    .set({
      status,
      last_fetch_error: error,
      ...(failed ? {} : { agents: outcome.agents, last_fetched_at: sql`now()` }),
      next_refresh_at: sql`now() + make_interval(secs => refresh_interval_seconds)`,
    })
    .where(and(eq(a2a_peers.id, peer.id), eq(a2a_peers.url, peer.url)));
  if (rowCount === 0) return;
  if (!failed) signal(tx, 'tools', peer.company_id);
  if (peer.status === status) return;
  const { id: entity_id, company_id, label } = peer;
  const action = failed ? 'peer.failing' : 'peer.healthy';
  const entry = { company_id, entity_type: 'peer', entity_id, action, details: { label, error } };
  await recordChanges(tx, systemActor('federation'), [entry]);
}

/**
 * Counts one call towards the peer's limit per minute. @throws rateLimited if none are left
 */
export async function takeCall(tx: Tx, { id }: Pick<PeerRow, 'id'>): Promise<void> {
  const fresh = sql`window_started_at <= now() - interval '1 minute'`;
  const result = await tx
    .update(a2a_peers)
    .set({
      window_started_at: sql`case when ${fresh} then now() else window_started_at end`,
      window_calls: sql`case when ${fresh} then 1 else window_calls + 1 end`,
      calls: sql`calls + 1`,
      last_call_at: sql`now()`,
    })
    .where(sql`id = ${id} and (${fresh} or window_calls < rate_limit_rpm)`);
  if (result.rowCount === 0) throw rateLimited('the peer’s calls of this minute are used up', 60);
}
