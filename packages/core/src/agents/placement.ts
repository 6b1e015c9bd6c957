/** Who may decide where an agent's programs run, and who may instruct it (decisions 10.10). Pure. */
import { type Actor, permits, type UpdateAgent } from '@acp/contract';
import { forbidden, said } from '@acp/kernel';
import { type AdapterRules, assertAdapter } from './adapter-rules.ts';
import { assertMayConfigure, isCompanyAdmin, sameJson } from './policy.ts';
import type { AgentRow } from './present.ts';

/** Everything that determines where an agent's programs run and with which privileges. */
interface Placement {
  adapter_type: string;
  adapter_config: Record<string, unknown>;
  home_dir: string | null;
  provider_id: string | null;
}

interface Target {
  id: string;
  company_id: string;
  permissions: Record<string, boolean>;
}

const placement = ['adapter_type', 'adapter_config', 'home_dir', 'provider_id'] as const;

/**
 * Checks whether the actor may make the change. Changing the placement requires the right to create an agent with the result:
 * what an admin has allowed for one adapter is not thereby allowed for another. A change of configuration alone is checked for
 * what it changes. An agent never moves itself, and a run's key moves no one.
 * @throws forbidden, and invalid for a configuration that does not fit its adapter
 */
export function assertMayChange(
  actor: Actor,
  agent: AgentRow,
  input: UpdateAgent,
  rules?: AdapterRules,
): void {
  if (instructions.some((field) => input[field] !== undefined && input[field] !== agent[field]))
    assertMayInstruct(actor, agent);
  const before = placementOf(agent);
  const after = { ...before, ...placementIn(input) };
  const changed = placement.filter((field) => !sameJson(before[field], after[field]));
  if (changed.length === 0) return;
  if (actor.kind === 'agent' && (actor.run_id !== null || actor.agent_id === agent.id))
    throw forbidden(
      actor.run_id === null
        ? said`${changed.join(', ')}: not for the agent itself`
        : said`${changed.join(', ')}: not for a run`,
    );
  assertMayInstruct(actor, agent);
  const moved = changed.some((field) => field !== 'adapter_config');
  assertMayRunAs(actor, agent.company_id, after, { rules, before: moved ? {} : before.adapter_config });
}

/** Whether the actor may run an agent with that adapter and configuration. @throws like `assertMayChange` */
export function assertMayRunAs(
  actor: Actor,
  company_id: string,
  after: Pick<Placement, 'adapter_type' | 'adapter_config'>,
  { rules, before = {} }: { rules?: AdapterRules | undefined; before?: Placement['adapter_config'] } = {},
): void {
  assertMayConfigure(actor, company_id, before, after.adapter_config);
  assertAdapter(actor, company_id, before, after, rules);
}

/**
 * An agent with `secrets.use` can reveal what it reads: anyone who has its key or writes its instructions has the company's
 * secrets. Its keys, prompt, skills, files and configuration are therefore reserved for admins. @throws forbidden
 */
export function assertMayInstruct(actor: Actor, agent: Pick<Target, 'company_id' | 'permissions'>): void {
  if (!permits(agent.permissions, 'secrets.use') || isCompanyAdmin(actor, agent.company_id)) return;
  throw forbidden('only admins can change the instructions of an agent with secrets.use');
}

/** Fields that are part of an agent's prompt, or that determine which prompt it has. */
const instructions = [
  'name',
  'role',
  'title',
  'description',
  // Its prompt names its manager, and names are free text.
  'reports_to',
  'system_prompt',
  'model',
  'externally_available',
  'gepa_auto_promote',
  'gepa_provider_override',
] as const;

/** An empty type means `llm` (specification, rule 2). */
function placementIn({
  adapter_type,
  adapter_config,
  home_dir,
  provider_id,
}: UpdateAgent): Partial<Placement> {
  return {
    ...(adapter_type === undefined ? {} : { adapter_type: adapter_type || 'llm' }),
    ...(adapter_config === undefined ? {} : { adapter_config }),
    ...(home_dir === undefined ? {} : { home_dir }),
    ...(provider_id === undefined ? {} : { provider_id }),
  };
}

function placementOf({ adapter_type, adapter_config, home_dir, provider_id }: AgentRow): Placement {
  return {
    adapter_type,
    adapter_config: adapter_config as Placement['adapter_config'],
    home_dir,
    provider_id,
  };
}
