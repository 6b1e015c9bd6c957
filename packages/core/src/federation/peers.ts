import {
  type Actor,
  type CreatePeer,
  createValidator,
  type Peer,
  PeerAgents,
  requireRole,
  type UpdatePeer,
} from '@acp/contract';
import {
  byCreation,
  containing,
  isUniqueViolation,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  signal,
  type Tx,
} from '@acp/db';
import { conflict, invalid, newId, notFound, said, type Vault } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { findInLiveCompany } from '../companies/index.ts';
import { assertBaseUrl } from '../providers/index.ts';
import { resumeDelegations } from './claim-delegations.ts';

const { a2a_peers } = schema;

export type PeerRow = typeof a2a_peers.$inferSelect;

/** A label that stands for any peer that has the agent. */
export const ANY_PEER = 'peer';

const place = (id: string) => `a2a_peers/${id}`;
const readAgents = createValidator(PeerAgents, 'agents');

/** Never contains the key, sealed or not. */
export function presentPeer(row: PeerRow): Peer {
  return {
    id: row.id,
    company_id: row.company_id,
    label: row.label,
    url: row.url,
    has_api_key: row.api_key_sealed !== null,
    timeout_seconds: row.timeout_seconds,
    rate_limit_rpm: row.rate_limit_rpm,
    refresh_interval_seconds: row.refresh_interval_seconds,
    local_preference_bias: row.local_preference_bias,
    last_fetched_at: row.last_fetched_at,
    last_fetch_error: row.last_fetch_error,
    status: row.status as Peer['status'],
    enabled: row.enabled,
    agents: readAgents(row.agents),
    calls: row.calls,
    errors: row.errors,
    last_call_at: row.last_call_at,
    last_call_error: row.last_call_error,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

export async function findPeer(tx: Tx, id: string): Promise<PeerRow | undefined> {
  return findInLiveCompany(tx, a2a_peers, id);
}

/** Newest first; at most 1,000 or 4 MB unless a limit is given (decisions 10.7). */
export async function listPeers(tx: Tx, company_id: string, query: SearchRequest): Promise<Page<Peer>> {
  const page = newestFirst(a2a_peers.created_at, a2a_peers.id, query, null);
  const rows = tx
    .select()
    .from(a2a_peers)
    .where(
      and(
        eq(a2a_peers.company_id, company_id),
        containing(query.q, [a2a_peers.label, a2a_peers.url]),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentPeer);
}

/** The key for calling the peer's agents; null if it has none. @throws unavailable if the key that sealed it is gone */
export const peerKey = (vault: Vault, { id, api_key_sealed }: Pick<PeerRow, 'id' | 'api_key_sealed'>) =>
  api_key_sealed === null ? null : vault.unseal(api_key_sealed, place(id));

/**
 * @param vault null if there is no key to seal
 * @throws forbidden, invalid for a malformed URL, unavailable for a key without an encryption key, conflict for a label that
 * is taken and at 50 peers
 */
export async function createPeer(
  tx: Tx,
  actor: Actor,
  company_id: string,
  { api_key, ...input }: CreatePeer,
  vault: Vault | null,
): Promise<Peer> {
  requireRole({ role: 'admin' }, actor, company_id);
  assertPeer(input);
  const id = newId();
  const api_key_sealed = api_key && vault ? vault.seal(api_key, place(id)) : null;
  await assertRoom(tx, 'a2a_peers', company_id);
  const [row] = await unlessTaken(async () =>
    tx
      .insert(a2a_peers)
      .values({ id, company_id, ...input, api_key_sealed })
      .returning(),
  );
  signal(tx, 'tools', company_id);
  await recordChanges(tx, actor, [changeOfPeer(row!, 'peer.created')]);
  return presentPeer(row!);
}

/** Absent fields stay unchanged. The key is only sent to the URL it was entered for: a new URL requires it again. */
export async function updatePeer(
  tx: Tx,
  actor: Actor,
  subject: PeerRow,
  input: UpdatePeer,
  vault: Vault,
): Promise<Peer> {
  const [before] = await tx.select().from(a2a_peers).where(eq(a2a_peers.id, subject.id)).for('no key update');
  if (!before) throw notFound();
  const { api_key, url, ...rest } = input;
  const moved = url !== undefined && url !== before.url;
  if (moved || api_key !== undefined) requireRole({ role: 'admin' }, actor, before.company_id);
  if (moved && before.api_key_sealed !== null && api_key === undefined)
    throw invalid('a new url needs api_key again, or null');
  assertPeer({ label: input.label ?? before.label, url: url ?? before.url });
  const sealed = api_key ? vault.seal(api_key, place(before.id)) : null;
  const [row] = await unlessTaken(async () =>
    tx
      .update(a2a_peers)
      .set({
        ...rest,
        url,
        ...(api_key === undefined ? {} : { api_key_sealed: sealed }),
        // The card must be fetched again.
        ...(moved ? { status: 'pending', agents: [], last_fetch_error: null } : {}),
        ...(moved || rest.enabled === true ? { next_refresh_at: sql`now()` } : {}),
        updated_at: sql`now()`,
      })
      .where(eq(a2a_peers.id, before.id))
      .returning(),
  );
  if (rest.enabled === true && !before.enabled) await resumeDelegations(tx, before.id);
  signal(tx, 'tools', before.company_id);
  await recordChanges(tx, actor, [changeOfPeer(row!, 'peer.updated', { fields: Object.keys(input) })]);
  return presentPeer(row!);
}

export async function deletePeer(tx: Tx, actor: Actor, peer: PeerRow): Promise<void> {
  const gone = await tx.delete(a2a_peers).where(eq(a2a_peers.id, peer.id)).returning({ id: a2a_peers.id });
  if (gone.length === 0) throw notFound();
  signal(tx, 'tools', peer.company_id);
  await recordChanges(tx, actor, [changeOfPeer(peer, 'peer.deleted')]);
}

/** Addresses are checked when names are resolved (SERVICE_PROVIDER_EGRESS). */
function assertPeer({ label, url }: Pick<CreatePeer, 'label' | 'url'>): void {
  assertBaseUrl(url, { egress: 'any' }, 'url');
  if (label.trim().toLowerCase() === ANY_PEER) throw invalid(said`label: ${ANY_PEER} stands for any peer`);
}

async function unlessTaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (isUniqueViolation(error, 'a2a_peers_label'))
      throw conflict('there is already a peer with that label');
    throw error;
  }
}

function changeOfPeer(
  { id, company_id, label }: PeerRow,
  action: string,
  details: Record<string, unknown> = {},
) {
  return { company_id, action, entity_type: 'peer', entity_id: id, details: { label, ...details } };
}
