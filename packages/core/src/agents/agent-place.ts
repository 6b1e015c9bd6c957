import type { Actor, AgentHome } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { notFound } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { findCompany, type HomeRules } from '../companies/index.ts';
import { homeOf, type HomePlace } from './agent-home.ts';
import type { AgentRow } from './present.ts';

const { agent_runtime_states } = schema;

/** The CLI session with which an agent's next run continues. */
export interface StoredSession {
  id: string;
  cwd: string;
  /** The CLI's running totals for the session; the adapter defines their shape. */
  totals: unknown;
}

/** Where an agent's programs run, and the session they continue. */
export interface AgentPlace extends HomePlace {
  session: StoredSession | null;
  /** Version of the session; at its end, a run only replaces the version it started with. */
  session_version: string | null;
}

/**
 * Undefined if the agent is gone. A session is never used by two runs at once, since the CLIs don't lock theirs: an issue has
 * only one live run, which uses the session of agent and issue unless that is too old or too long; without an issue, there is
 * no session while an earlier run of the agent is in progress.
 * @param run_id null: not for a run
 */
export async function agentPlace(
  tx: Tx,
  agent_id: string,
  run_id: string | null,
  issue_id: string | null = null,
): Promise<AgentPlace | undefined> {
  if (issue_id !== null) return placeOnIssue(tx, agent_id, issue_id);
  const { rows } = await tx.execute<{ [K in keyof AgentPlace]: AgentPlace[K] }>(sql`
    select a.home_dir, c.home_dir as company_home_dir, jsonb_build_object('id', c.id, 'slug', c.slug) as company,
      case when s.session_id is not null and not exists (
        select from heartbeat_runs other join heartbeat_runs own on own.id = ${run_id}::uuid
        where other.agent_id = a.id and other.status = 'running' and other.id <> own.id
          and (other.started_at, other.id) < (own.started_at, own.id)
      ) then jsonb_build_object('id', s.session_id, 'cwd', s.session_cwd, 'totals', s.session_totals) end as session,
      s.session_updated_at::text as session_version,
      ${otherHomes}
    from agents a join companies c on c.id = a.company_id join agent_runtime_states s on s.agent_id = a.id
    where a.id = ${agent_id}`);
  return rows[0];
}

/** After this time or this many input tokens a session is not continued: the prompt says what was done. */
const SESSION_DAYS = 14;
const SESSION_TOKENS = 20_000_000;

async function placeOnIssue(tx: Tx, agent_id: string, issue_id: string): Promise<AgentPlace | undefined> {
  const { rows } = await tx.execute<{ [K in keyof AgentPlace]: AgentPlace[K] }>(sql`
    select a.home_dir, c.home_dir as company_home_dir, jsonb_build_object('id', c.id, 'slug', c.slug) as company,
      case when s.session_id is not null and s.session_begun_at > now() - make_interval(days => ${SESSION_DAYS}) and (
        select coalesce(sum(r.input_tokens), 0) from heartbeat_runs r
        where r.issue_id = ${issue_id} and r.agent_id = a.id and r.created_at >= s.session_begun_at - interval '1 day'
      ) < ${SESSION_TOKENS}
        then jsonb_build_object('id', s.session_id, 'cwd', s.session_cwd, 'totals', s.session_totals) end as session,
      s.session_updated_at::text as session_version,
      ${otherHomes}
    from agents a join companies c on c.id = a.company_id
      left join task_sessions s on s.agent_id = a.id and s.issue_id = ${issue_id} and s.status = 'active'
    where a.id = ${agent_id}`);
  return rows[0];
}

/** An agent's home and the session stored in it. */
export interface KeptPlace extends Omit<AgentPlace, 'session' | 'session_version'> {
  agent_id: string;
  session_cwd: string | null;
}

const LOWEST_ID = '00000000-0000-0000-0000-000000000000';

const otherHomes = sql`array(
  select other.home_dir from agents other
  where other.company_id = a.company_id and other.id <> a.id and other.home_dir is not null) as other_homes`;

/**
 * Homes of agents without a run in progress, including trashed ones, ordered by id. A run that starts in the meantime continues
 * either the session given here or none.
 * @param after null: from the beginning. @returns `last`: where to continue; null at the end
 */
export async function placesOfIdleAgents(
  tx: Tx,
  after: string | null,
  limit: number,
): Promise<{ places: KeptPlace[]; last: string | null }> {
  const { rows } = await tx.execute<{ [K in keyof KeptPlace]: KeptPlace[K] } & { at_work: boolean }>(sql`
    select a.id as agent_id, a.home_dir, c.home_dir as company_home_dir, s.session_cwd,
      jsonb_build_object('id', c.id, 'slug', c.slug) as company, ${otherHomes},
      exists (select from heartbeat_runs r where r.agent_id = a.id and r.status = 'running') as at_work
    from agents a join companies c on c.id = a.company_id join agent_runtime_states s on s.agent_id = a.id
    where a.id > ${after ?? LOWEST_ID}::uuid
    order by a.id limit ${limit}`);
  const last = rows.length < limit ? null : rows.at(-1)!.agent_id;
  return { places: rows.filter(({ at_work }) => !at_work), last };
}

/** Location of the agent's programs, whether it has any or not. */
export async function agentHome(tx: Tx, agent: AgentRow, { service_home }: HomeRules): Promise<AgentHome> {
  const company = await findCompany(tx, agent.company_id);
  if (!company) throw notFound();
  const { home_dir } = agent;
  const place = { home_dir, company_home_dir: company.home_dir, company };
  return { home_dir: homeOf(service_home, agent.id, place), is_override: home_dir !== null };
}

/** The next run starts a new session, even if a run in progress ends later. */
export async function clearSession(tx: Tx, actor: Actor, agent: AgentRow): Promise<void> {
  await tx
    .update(agent_runtime_states)
    .set({
      session_id: null,
      session_cwd: null,
      session_totals: null,
      session_updated_at: sql`now()`,
      updated_at: sql`now()`,
    })
    .where(sql`${agent_runtime_states.agent_id} = ${agent.id}`);
  await recordChanges(tx, actor, [
    {
      company_id: agent.company_id,
      action: 'agent.session_cleared',
      entity_type: 'agent',
      entity_id: agent.id,
    },
  ]);
}

/** Which of the ids are agents', trashed ones included. */
export async function agentsAmong(tx: Tx, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const { rows } = await tx.execute<{ id: string }>(sql`select id from agents where id in ${[...ids]}`);
  return new Set(rows.map(({ id }) => id));
}
