import { findPeer, peerKey, type PeerRow, readCard, recordFetch } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { notFound, ServiceError, type Vault } from '@acp/kernel';
import { fetchJson } from './fetch-json.ts';

export interface PeerParts {
  database: Database;
  vault: Vault;
  /** Guarded (SERVICE_PROVIDER_EGRESS) and restricted to the company's host list. */
  fetchFor: (company_id: string) => typeof fetch;
  /** The address at which peers reach this service. */
  public_url: string;
}

/** A card is small, whereas the timeout of a call may be long. */
const CARD_TIMEOUT_SEC = 20;

const WELL_KNOWN = '/.well-known/agent-card.json';

/** Fetches the peer's card and stores it, or the reason for the failure. @throws notFound if the peer is gone */
export async function refreshPeer(parts: PeerParts, peer_id: string, signal: AbortSignal): Promise<void> {
  const { database } = parts;
  const peer = await findPeer(database.db, peer_id);
  if (peer === undefined) throw notFound();
  const outcome = await cardOf(parts, peer, signal);
  await transaction(database, async (tx) => recordFetch(tx, peer, outcome));
}

async function cardOf({ vault, fetchFor }: PeerParts, peer: PeerRow, signal: AbortSignal) {
  const url = cardUrl(peer.url);
  try {
    const key = peerKey(vault, peer);
    const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    const timeout_sec = Math.min(peer.timeout_seconds, CARD_TIMEOUT_SEC);
    return {
      agents: readCard(
        await fetchJson(fetchFor(peer.company_id), url, { method: 'GET', headers, timeout_sec }, signal),
        url,
      ),
    };
  } catch (error) {
    if (error instanceof ServiceError) return { error: error.message };
    throw error;
  }
}

/** The URL of the card itself, or the base URL that it is found under. */
function cardUrl(text: string): string {
  const url = new URL(text);
  if (!url.pathname.endsWith('.json')) url.pathname = url.pathname.replace(/\/+$/, '') + WELL_KNOWN;
  return url.href;
}
