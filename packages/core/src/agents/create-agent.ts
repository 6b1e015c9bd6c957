import type { Actor, Agent, CreateAgent } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { newId, notFound } from '@acp/kernel';
import { recordChanges } from '../activity/index.ts';
import { type CompanyRow, findCompany } from '../companies/index.ts';
import { assertReferences } from '../trash/index.ts';
import { type AdapterRules, assertAdapter } from './adapter-rules.ts';
import { firstHeartbeatAt } from './heartbeat.ts';
import { insertKey, mayMintKeys } from './keys.ts';
import { assertMayConfigure, permissionsOfHire } from './policy.ts';
import { type AgentRow, presentAgent, summarizeAgent } from './present.ts';
import { assertProvider, assertRoom, inheritedModel } from './references.ts';
import { revisionOf, versionOf } from './revisions.ts';
import { defaultPrompt } from './role-prompts.ts';
import { settableOnCreate } from './settable.ts';

const { agent_runtime_states, agents } = schema;

interface HireOptions {
  /** Absent: only admins may name images and functions. */
  rules?: AdapterRules;
  /** An agent that hires another gets its key, shown only once; not during a run. */
  first_key?: boolean;
  /** The agent that asked for the hire, if a person carries it out. */
  requested_by?: string | null;
  /** Set for sub-agents only. */
  spawned?: Pick<AgentRow, 'parent_agent_id' | 'subagent_depth' | 'ancestor_ids' | 'spawn_reason'>;
}

/**
 * Hires an agent: omitted fields come from the company's defaults, the role, and the agent that hires it. It gets no permission
 * that the agent that hires it lacks.
 * @throws invalid for an unknown provider or manager, or a configuration that does not fit its adapter; forbidden for a
 * configuration that the actor may not write
 */
export async function createAgent(
  tx: Tx,
  actor: Actor,
  company_id: string,
  given: CreateAgent,
  { rules, first_key = false, requested_by, spawned }: HireOptions = {},
): Promise<Agent | { agent: Agent; api_key: string | null }> {
  if (given.adapter_config) assertMayConfigure(actor, company_id, {}, given.adapter_config);
  const company = await findCompany(tx, company_id);
  if (!company) throw notFound();
  const adapter = adapterOf(given, company);
  const place = { company_id, adapter_type: adapter.adapter_type };
  const input = { ...given, ...(await inheritedModel(tx, actor, place, given, requested_by)) };
  await assertProvider(tx, company_id, input.provider_id);
  if (input.adapter_config !== undefined || input.adapter_type !== undefined) {
    // A default set by an admin is inherited as is; combined with another adapter it becomes the actor's choice.
    if (adapter.adapter_type !== (company.agent_default_adapter_type || 'llm'))
      assertMayConfigure(actor, company_id, {}, adapter.adapter_config);
    assertAdapter(actor, company_id, {}, adapter, rules);
  }
  await assertReferences(tx, 'agents', company_id, { reports_to: input.reports_to });

  await assertRoom(tx, 'agents', company_id);
  const row = await insertAgent(tx, actor, company, input, spawned);
  const details = { name: row.name, role: row.role };
  const event = { type: 'agent_created', data: summarizeAgent(row) } as const;
  await recordChanges(tx, actor, [
    { company_id, action: 'agent.created', entity_type: 'agent', entity_id: row.id, details, event },
  ]);
  const agent = presentAgent(row);
  if (!first_key || actor.kind !== 'agent') return agent;
  if (!mayMintKeys(actor)) return { agent, api_key: null };
  const { raw_key } = await insertKey(tx, actor, row, { label: 'first key' });
  return { agent, api_key: raw_key };
}

async function insertAgent(
  tx: Tx,
  actor: Actor,
  company: CompanyRow,
  input: CreateAgent,
  spawned: HireOptions['spawned'],
): Promise<AgentRow> {
  const id = newId();
  const role = input.role ?? 'general';
  const enabled = input.heartbeat_enabled ?? company.agent_default_heartbeat_enabled;
  const interval = input.heartbeat_interval_sec ?? company.agent_default_heartbeat_interval_sec;
  const state = tx
    .$with('state')
    .as(
      tx
        .insert(agent_runtime_states)
        .values({ agent_id: id })
        .returning({ agent_id: agent_runtime_states.agent_id }),
    );
  const adapter = adapterOf(input, company);
  const system_prompt = input.system_prompt ?? defaultPrompt(role);
  const first = { adapter_config: adapter.adapter_config, reason: spawned ? 'spawned' : 'hired' };
  const [row] = await tx
    .with(state, revisionOf(tx, actor, id, first), versionOf(tx, id, 1, system_prompt))
    .insert(agents)
    .values({
      ...settableOnCreate(input),
      id,
      company_id: company.id,
      role,
      ...adapter,
      system_prompt,
      heartbeat_enabled: enabled,
      heartbeat_interval_sec: interval,
      next_heartbeat_at: enabled ? firstHeartbeatAt(interval) : null,
      permissions: permissionsOfHire(actor),
      ...spawned,
    })
    .returning();
  return row!;
}

/** An empty type means `llm` (specification, rule 2). */
function adapterOf(input: CreateAgent, company: CompanyRow) {
  return {
    adapter_type: (input.adapter_type ?? company.agent_default_adapter_type) || 'llm',
    adapter_config: input.adapter_config ?? (company.agent_default_adapter_config as Record<string, unknown>),
  };
}
