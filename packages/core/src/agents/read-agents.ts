import type { Actor, Agent, AgentStatus, RuntimeState } from '@acp/contract';
import { byCreation, containing, newestFirst, type Page, schema, type SearchRequest, type Tx } from '@acp/db';
import { isUuid, notFound, oneNamed } from '@acp/kernel';
import { and, desc, eq, inArray, isNotNull, isNull, sql } from 'drizzle-orm';
import { findCompany } from '../companies/index.ts';
import { agentColumns, type AgentRow, presentAgent } from './present.ts';

const { agent_runtime_states, agents, companies } = schema;

/** What a search looks at. */
export const wordsOfAgent = [agents.name, agents.title, agents.role, agents.description];

interface AgentFilter {
  name?: string;
  company_id?: string;
}

/** Trashed agents count as absent, as does everything in a trashed company (decisions 7.6). */
const alive = and(isNull(agents.deleted_at), isNull(companies.deleted_at));

/** Loads an agent for its scope: undefined for absent, trashed and malformed ids alike. */
export async function findAgent(tx: Tx, agent_id: string): Promise<AgentRow | undefined> {
  if (!isUuid(agent_id)) return undefined;
  const [row] = await tx
    .select(agentColumns)
    .from(agents)
    .innerJoin(companies, eq(companies.id, agents.company_id))
    .where(and(eq(agents.id, agent_id), alive));
  return row;
}

/**
 * Finds an agent of the company by id or, ignoring case, by a unique name.
 * @throws notFound, conflict if several have the name
 */
export async function agentNamed(tx: Tx, company_id: string, word: string): Promise<AgentRow> {
  const named = isUuid(word) ? eq(agents.id, word) : sql`lower(${agents.name}) = lower(${word})`;
  const found = await tx
    .select(agentColumns)
    .from(agents)
    .innerJoin(companies, eq(companies.id, agents.company_id))
    .where(and(eq(agents.company_id, company_id), alive, named))
    .limit(10);
  return oneNamed('agent', word, found, ({ name }) => name);
}

/**
 * The agents visible to the caller, newest first: those of its company or, for a user, of all the user's companies.
 * `name` must match completely, ignoring case. @throws notFound for a company that isn't the caller's.
 */
export async function listAgents(
  tx: Tx,
  actor: Actor,
  filter: AgentFilter = {},
): Promise<{ agents: Agent[] }> {
  return { agents: (await pageOfAgents(tx, actor, filter)).items };
}

/** The same in pages; at most 1,000 or 4 MB unless a limit is given (decisions 3). */
export async function pageOfAgents(
  tx: Tx,
  actor: Actor,
  filter: AgentFilter & SearchRequest,
): Promise<Page<Agent>> {
  const page = newestFirst(agents.created_at, agents.id, filter, null);
  const company_ids = await companiesInView(tx, actor, filter.company_id);
  if (company_ids.length === 0) return { items: [], next_cursor: null };
  const rows = tx
    .select(agentColumns)
    .from(agents)
    .innerJoin(companies, eq(companies.id, agents.company_id))
    .where(
      and(
        inArray(agents.company_id, company_ids),
        alive,
        filter.name === undefined ? undefined : sql`lower(${agents.name}) = lower(${filter.name})`,
        containing(filter.q, wordsOfAgent),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentAgent);
}

async function companiesInView(tx: Tx, actor: Actor, company_id: string | undefined): Promise<string[]> {
  if (actor.kind === 'agent' || actor.kind === 'board_user') {
    if (company_id !== undefined && company_id !== actor.company_id) throw notFound();
    return [actor.company_id];
  }
  if (actor.kind !== 'user') return [];
  if (company_id === undefined) return Object.keys(actor.roles);
  const member = Object.hasOwn(actor.roles, company_id);
  const visible = member || (actor.instance_role === 'admin' && (await findCompany(tx, company_id)));
  if (!visible) throw notFound();
  return [company_id];
}

/** Its session: the most recently used one, on any issue or none. */
export async function runtimeState(tx: Tx, agent: AgentRow): Promise<RuntimeState> {
  const [state] = await tx
    .select()
    .from(agent_runtime_states)
    .where(eq(agent_runtime_states.agent_id, agent.id));
  if (!state) throw notFound();
  const { task_sessions } = schema;
  const [onIssue] = await tx
    .select()
    .from(task_sessions)
    .where(
      and(
        eq(task_sessions.agent_id, agent.id),
        eq(task_sessions.status, 'active'),
        isNotNull(task_sessions.session_id),
      ),
    )
    .orderBy(desc(task_sessions.session_updated_at))
    .limit(1);
  const times = [state, onIssue].map((one) => one?.session_updated_at?.getTime() ?? 0) as [number, number];
  const { session_id, session_cwd, session_updated_at } =
    onIssue !== undefined && (state.session_id === null || times[1] > times[0]) ? onIssue : state;
  return {
    agent_id: agent.id,
    status: agent.status as AgentStatus,
    current_run_id: state.current_run_id,
    last_heartbeat_at: state.last_heartbeat_at,
    last_error: state.last_error,
    session_id,
    session_cwd,
    session_updated_at,
    updated_at: state.updated_at,
  };
}
