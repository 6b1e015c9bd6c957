import type { AgentActor, BoardUserActor, CompanyRole } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { markBoardUserKeysUsed } from '../companies/index.ts';
import { markAgentKeysUsed } from './keys.ts';

interface BearerRow extends Record<string, unknown> {
  key_id: string;
  company_id: string;
  name: string;
  agent_id: string | null;
  permissions: Record<string, boolean>;
  run_id: string | null;
  depth: number;
  role: CompanyRole;
  ends_in_ms: number | null;
}

export interface Bearer {
  actor: AgentActor | BoardUserActor;
  /** Milliseconds for which the key remains valid; null: does not expire. */
  ends_in_ms: number | null;
}

/**
 * The actor behind a bearer key: agent keys first, then board-user keys, in one statement (specification, Authentication 2).
 * Invalid are keys of trashed companies, of trashed and terminated agents, and of runs that are no longer running. A run's key
 * acts at the depth of its run, so a chain of causes continues through it.
 */
export async function resolveBearer(
  tx: Tx,
  key_hash: string,
): Promise<AgentActor | BoardUserActor | undefined> {
  return (await findBearer(tx, key_hash))?.actor;
}

/** Like `resolveBearer`, with the remaining lifetime, for caching. */
export async function findBearer(tx: Tx, key_hash: string): Promise<Bearer | undefined> {
  const { rows } = await tx.execute<BearerRow>(sql`
    select key.id as key_id, key.company_id, agent.name, agent.id as agent_id, agent.permissions,
      key.run_id, coalesce(run.depth, 0) as depth, null as role, ${endsIn} as ends_in_ms
    from agent_api_keys key
    join agents agent on agent.id = key.agent_id and agent.deleted_at is null and agent.status <> 'terminated'
    join companies company on company.id = key.company_id and company.deleted_at is null
    left join heartbeat_runs run on run.id = key.run_id
    where key.key_hash = ${key_hash} and (key.expires_at is null or key.expires_at > now()) and (key.run_id is null or run.status = 'running')
    union all
    select key.id, key.company_id, coalesce(key.label, key.key_prefix), null, '{}', null, 0, key.role, ${endsIn}
    from board_user_keys key
    join companies company on company.id = key.company_id and company.deleted_at is null
    where key.key_hash = ${key_hash} and (key.expires_at is null or key.expires_at > now())`);
  const row = rows.find((each) => each.agent_id !== null) ?? rows[0];
  return row && { actor: actorOf(row), ends_in_ms: row.ends_in_ms };
}

const endsIn = sql`(extract(epoch from key.expires_at - now()) * 1000)::float8`;

function actorOf(row: BearerRow): AgentActor | BoardUserActor {
  const { key_id, company_id, name } = row;
  if (row.agent_id === null) return { kind: 'board_user', key_id, company_id, role: row.role, name };
  return {
    kind: 'agent',
    agent_id: row.agent_id,
    company_id,
    name,
    key_id,
    permissions: row.permissions,
    run_id: row.run_id,
    depth: row.depth,
  };
}

/** Whoever opened something that outlasts a request with a key. */
type KeyHolder = Pick<AgentActor, 'key_id'> & Partial<Pick<AgentActor, 'agent_id' | 'run_id'>>;

/**
 * The keys among these whose holders have ended, so that nothing may stay open for them: agents that are trashed or terminated,
 * runs that are over or have handed in their key, keys that have expired. One that was just revoked is none of them (specification,
 * Live event stream).
 */
export async function endedKeys(tx: Tx, holders: readonly KeyHolder[]): Promise<Set<string>> {
  const { rows } = await tx.execute<{ key_id: string }>(sql`
    select held.key_id
    from jsonb_to_recordset(${JSON.stringify(holders)}::jsonb) as held(key_id uuid, agent_id uuid, run_id uuid)
    left join agents agent on agent.id = held.agent_id and agent.deleted_at is null and agent.status <> 'terminated'
    left join agent_api_keys key on key.id = held.key_id
    left join heartbeat_runs run on run.id = key.run_id
    left join board_user_keys board on board.id = held.key_id
    where (held.agent_id is not null and agent.id is null) or key.expires_at <= now() or board.expires_at <= now()
      or (held.run_id is not null and run.status is distinct from 'running')`);
  return new Set(rows.map(({ key_id }) => key_id));
}

/** `last_used_at` of both kinds of keys: called with what has accumulated over some seconds, never by a request. */
export async function markKeysUsed(tx: Tx, key_ids: readonly string[]): Promise<void> {
  if (key_ids.length === 0) return;
  await markAgentKeysUsed(tx, key_ids);
  await markBoardUserKeysUsed(tx, key_ids);
}
