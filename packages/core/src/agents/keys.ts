import type { Actor, AgentKey, NewAgentKey } from '@acp/contract';
import {
  byCreation,
  containing,
  inOrder,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  signal,
  type Tx,
} from '@acp/db';
import { conflict, forbidden, isUuid, newApiKey, notFound, sha256Hex } from '@acp/kernel';
import { and, eq, getTableColumns, inArray, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { assertMayInstruct } from './placement.ts';
import {
  answerableUser,
  keyExpiry,
  type Leaving,
  type LeftCredential,
  ofLiveCompany,
  rowsLostBy,
} from '../companies/index.ts';
import { type AgentKeyRow, presentKey } from './present.ts';
import { assertWithinReach } from './reach.ts';
import { findAgent } from './read-agents.ts';

const { agent_api_keys, agents, companies } = schema;

/** A fresh key and its stored form: the hash, and the first 8 characters for telling keys apart. */
export function newKeyMaterial(): { raw_key: string; key_hash: string; key_prefix: string } {
  const raw_key = newApiKey();
  return { raw_key, key_hash: sha256Hex(raw_key), key_prefix: raw_key.slice(0, 8) };
}

/**
 * Creates a key; `raw_key` is shown only once.
 * @throws notFound for another company's agent; forbidden for an agent with more rights than the caller, for one with
 * `secrets.use` unless the caller is an admin, and for a run, whose rights end with it; conflict for a terminated agent, whose
 * keys are useless
 */
export async function createAgentKey(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: { agent_id: string; label?: string | null; expires_in_days?: number | null },
): Promise<NewAgentKey> {
  const agent = await findAgent(tx, input.agent_id);
  if (agent?.company_id !== company_id) throw notFound();
  if (!mayMintKeys(actor)) throw forbidden('a run cannot create keys');
  await assertWithinReach(tx, actor, agent);
  assertMayInstruct(actor, agent);
  if (agent.status === 'terminated') throw conflict('agent is terminated');
  const { row, raw_key } = await insertKey(tx, actor, agent, {
    label: input.label ?? null,
    days: input.expires_in_days,
  });
  await recordChanges(tx, actor, [keyChange(row, 'agent_key.created')]);
  return { ...presentKey(row), raw_key };
}

/** The only place that creates lasting keys: none outlives the key that it was created with. */
export async function insertKey(
  tx: Tx,
  actor: Actor,
  agent: { id: string; company_id: string },
  { label, days }: { label: string | null; days?: number | null | undefined },
): Promise<{ row: AgentKeyRow; raw_key: string }> {
  const { id: agent_id, company_id } = agent;
  const created_by_user_id = await answerableUser(tx, actor, company_id, 'member');
  await assertRoom(tx, 'agent_keys', agent_id);
  const { raw_key, ...stored } = newKeyMaterial();
  const [row] = await tx
    .insert(agent_api_keys)
    .values({
      company_id,
      agent_id,
      label,
      created_by_user_id,
      ...stored,
      expires_at: keyExpiry(actor, days),
    })
    .returning();
  return { row: row!, raw_key };
}

/** A run's temporary key could otherwise create a lasting one. */
export function mayMintKeys(actor: Actor): boolean {
  return actor.kind !== 'agent' || actor.run_id === null;
}

/** Newest first. Ephemeral keys of runs are internal and excluded. */
export async function listAgentKeys(
  tx: Tx,
  agent: { id: string },
  query: SearchRequest,
): Promise<Page<AgentKey>> {
  const page = newestFirst(agent_api_keys.created_at, agent_api_keys.id, query, null);
  const rows = tx
    .select()
    .from(agent_api_keys)
    .where(
      and(
        eq(agent_api_keys.agent_id, agent.id),
        isNull(agent_api_keys.run_id),
        containing(query.q, [agent_api_keys.label, agent_api_keys.key_prefix]),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentKey);
}

/** Loads a key for its scope; also undefined for keys of trashed agents and companies. */
export async function findAgentKey(tx: Tx, key_id: string): Promise<AgentKeyRow | undefined> {
  if (!isUuid(key_id)) return undefined;
  const [row] = await tx
    .select(getTableColumns(agent_api_keys))
    .from(agent_api_keys)
    .innerJoin(agents, and(eq(agents.id, agent_api_keys.agent_id), isNull(agents.deleted_at)))
    .innerJoin(companies, ofLiveCompany(agent_api_keys.company_id))
    .where(and(eq(agent_api_keys.id, key_id), isNull(agent_api_keys.run_id)));
  return row;
}

/** Those of the keys that have neither been revoked nor expired. */
export async function standingAgentKeys(tx: Tx, key_ids: readonly string[]): Promise<Set<string>> {
  if (key_ids.length === 0) return new Set();
  const rows = await tx
    .select({ id: agent_api_keys.id })
    .from(agent_api_keys)
    .where(
      and(
        inArray(agent_api_keys.id, [...key_ids]),
        sql`coalesce(${agent_api_keys.expires_at} > now(), true)`,
      ),
    );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Revokes a key immediately in every process.
 * @throws notFound if someone else was faster, forbidden for an agent with fewer rights than the key's
 */
export async function deleteAgentKey(tx: Tx, actor: Actor, key: AgentKeyRow): Promise<void> {
  await assertWithinReach(tx, actor, { id: key.agent_id });
  const deleted = await tx
    .delete(agent_api_keys)
    .where(eq(agent_api_keys.id, key.id))
    .returning({ id: agent_api_keys.id });
  if (deleted.length === 0) throw notFound();
  signal(tx, 'credentials', key.id);
  await recordChanges(tx, actor, [keyChange(key, 'agent_key.deleted')]);
}

/** Permanently, in every process: keys of finished agents, or of all agents of a deleted company. */
export async function revokeAgentKeys(
  tx: Tx,
  of: { agent_id: string } | { company_id: string },
): Promise<void> {
  const owner =
    'agent_id' in of
      ? eq(agent_api_keys.agent_id, of.agent_id)
      : eq(agent_api_keys.company_id, of.company_id);
  const revoked = await tx
    .delete(agent_api_keys)
    .where(inOrder(agent_api_keys, owner))
    .returning({ id: agent_api_keys.id });
  for (const { id } of revoked) signal(tx, 'credentials', id);
}

/** Ends the keys of someone who may no longer create them, in every process, or hands them over. */
export async function settleAgentKeysOf(tx: Tx, leaving: Leaving): Promise<LeftCredential[]> {
  // Keys of agents with `secrets.use` are an admin's (`assertMayInstruct`).
  const reserved = sql`(select a.permissions @> '{"secrets.use": true}' from agents a where a.id = ${agent_api_keys.agent_id})`;
  const theirs = inOrder(agent_api_keys, rowsLostBy(leaving, agent_api_keys, reserved));
  const left =
    leaving.heir === undefined
      ? await tx.delete(agent_api_keys).where(theirs).returning()
      : await tx.update(agent_api_keys).set({ created_by_user_id: leaving.heir }).where(theirs).returning();
  if (leaving.heir === undefined) for (const { id } of left) signal(tx, 'credentials', id);
  return left.map(({ id, company_id, label, key_prefix }) => ({
    kind: 'agent_key',
    id,
    company_id,
    label: label ?? key_prefix,
  }));
}

/** The owner of a key that lives as long as a run. */
interface RunOfKey {
  id: string;
  agent_id: string;
  company_id: string;
}

/** Like `mintRunKeys`, for one run. @returns the key */
export async function mintRunKey(tx: Tx, run: RunOfKey): Promise<string> {
  return (await mintRunKeys(tx, [run])).get(run.id)!;
}

/**
 * Creates a key for each run that no list shows. It is only valid while the run is running (`resolveBearer`), even if no one
 * revokes it.
 * @returns keys by run; they are stored nowhere
 */
export async function mintRunKeys(tx: Tx, runs: readonly RunOfKey[]): Promise<ReadonlyMap<string, string>> {
  const minted = runs.map((run) => ({ run, ...newKeyMaterial() }));
  if (minted.length > 0)
    await tx.insert(agent_api_keys).values(
      minted.map(({ run: { id: run_id, company_id, agent_id }, key_hash, key_prefix }) => ({
        company_id,
        agent_id,
        run_id,
        label: 'run',
        key_hash,
        key_prefix,
      })),
    );
  return new Map(minted.map(({ run, raw_key }) => [run.id, raw_key]));
}

/** Immediately, in every process. */
export async function revokeRunKeys(
  tx: Tx,
  runs: readonly { id: string; agent_id: string }[],
): Promise<void> {
  const agents_of = runs.map(({ agent_id }) => agent_id);
  const ids = runs.map(({ id }) => id);
  const revoked = await tx
    .delete(agent_api_keys)
    .where(and(inArray(agent_api_keys.agent_id, agents_of), inArray(agent_api_keys.run_id, ids)))
    .returning({ id: agent_api_keys.id });
  for (const { id } of revoked) signal(tx, 'credentials', id);
}

/** Updates `last_used_at` in batches, off the request path. Ids of other kinds of keys are ignored. */
export async function markAgentKeysUsed(tx: Tx, key_ids: readonly string[]): Promise<void> {
  const among = sql`${agent_api_keys.id} = any(${sql.param([...key_ids])}::uuid[])`;
  await tx
    .update(agent_api_keys)
    .set({ last_used_at: sql`now()` })
    .where(inOrder(agent_api_keys, among, 'no key update'));
}

function keyChange(key: AgentKeyRow, action: string) {
  return {
    company_id: key.company_id,
    action,
    entity_type: 'agent_key',
    entity_id: key.id,
    details: { agent_id: key.agent_id, label: key.label, key_prefix: key.key_prefix },
  };
}
