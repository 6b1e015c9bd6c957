import {
  containerSpec,
  isCli,
  localSandbox,
  passedSecrets,
  programEnvironment,
  secretsOf,
  takesImages,
} from '@acp/adapters';
import type { AdapterTask, ProgramSpec, ProviderSpec } from '@acp/adapters';
import { adapterTraits, assertAdapterConfig } from '@acp/contract';
import { agentPlace, namesOutside, resolveSecrets } from '@acp/core';
import type { AgentPlace, ClaimedRun, PromptAgent } from '@acp/core';
import type { Database } from '@acp/db';
import { createGuardedFetch, ServiceError } from '@acp/kernel';
import type { Config, Vault } from '@acp/kernel';
import { listedFetch } from '../egress/listed-fetch.ts';
import { listOf } from '../egress/known-lists.ts';
import { asConfigured, makeFolders, makePrivateFolders } from '../programs/agent-folders.ts';
import type { AgentFolders } from '../programs/agent-folders.ts';
import { sessionOf } from '../programs/session.ts';
import { MAX_TURNS } from './kinds/execution-kind.ts';
import { chooseModel, MAX_OUTPUT_TOKENS, type ModelChoice } from './provider.ts';
import { RunFailure } from './run-failure.ts';

interface PlanSettings {
  database: Database;
  config: Config;
  provider: ProviderSpec | null;
  vault: Vault;
}

/** What the plan is for: a run, or a test of the adapter. */
type Planned = Pick<
  ClaimedRun,
  'run_id' | 'company_id' | 'agent_id' | 'issue_id' | 'api_key' | 'adapter_type'
> & {
  /** Starts without a session, even if one is stored. */
  fresh?: boolean;
  /** Works in the issue's workspace, and continues the session there. */
  in_workspace?: boolean;
  audience?: Pick<ClaimedRun['audience'], 'private_to_user_id'>;
};

export type PlannedTask = Omit<AdapterTask, 'system_prompt' | 'messages'>;

/** How the turns of a run are executed. */
export interface AdapterPlan {
  task: PlannedTask;
  /** The provider's family or the adapter, for the cost event. */
  provider: string;
  /** The company's provider, which an exhausted quota pauses. */
  provider_id: string | null;
  max_turns: number;
  /** Whether its calls can be priced in advance (decisions 8.4). */
  metered: boolean;
  /** The model accepts images. */
  sees: boolean;
  /** For the Scrubber. */
  secrets: string[];
  /** For adapters that run a program. */
  folders: AgentFolders | null;
  session_version: string | null;
}

const LAMBDA_TIMEOUT_SEC = 900;

/** The worker that takes the task plans the run. */
export function isHandedOver({ adapter_type }: Pick<Planned, 'adapter_type'>): boolean {
  return adapterTraits(adapter_type).runs_as === 'worker';
}

/**
 * Chooses the adapter of a run (specification, behaviour rule 2; the claim has settled which) and prepares what it needs.
 * Throws RunFailure or AdapterError `config`, worded for the agent's owner.
 */
export async function planAdapter(
  settings: PlanSettings,
  run: Planned,
  agent: PromptAgent,
): Promise<AdapterPlan> {
  const { runs_as } = adapterTraits(run.adapter_type);
  if (runs_as === 'model') return planLlm(settings, run, agent);
  const { value: adapter_config, secrets } = await usableConfig(settings, run, agent);
  const plan = runs_as === 'function' ? planCloud : planProgram;
  const planned = await plan(settings, run, agent, adapter_config);
  return { ...planned, secrets: [...planned.secrets, ...secrets] };
}

async function planLlm(settings: PlanSettings, run: Planned, agent: PromptAgent): Promise<AdapterPlan> {
  const { config } = settings;
  const choice = await chooseModel(settings, run, agent);
  return {
    task: {
      ...baseTask(run, choice.model, agent.adapter_config),
      provider: choice.provider,
      timeouts: { idle_sec: config.llm_idle_timeout_sec, total_sec: config.llm_timeout_sec },
    },
    provider: choice.provider.family,
    provider_id: choice.provider_id,
    max_turns: MAX_TURNS,
    metered: true,
    sees: seesImages(agent.adapter_config, choice),
    secrets: secretsOf(choice.provider),
    folders: null,
    session_version: null,
  };
}

/** Follows the setting of the agent's owner, else the model's name. */
function seesImages({ images }: Record<string, unknown>, { provider, model }: ModelChoice): boolean {
  return typeof images === 'boolean' ? images : takesImages(provider.family, model);
}

function baseTask(run: Planned, model: string, adapter_config: unknown) {
  const { run_id, adapter_type } = run;
  return { run_id, adapter_type, model, max_output_tokens: MAX_OUTPUT_TOKENS, adapter_config };
}

type AdapterConfig = Record<string, unknown>;

/** Validates the configuration again against its schema and the operator's lists, then fills in its secrets. */
async function usableConfig({ database, config, vault }: PlanSettings, run: Planned, agent: PromptAgent) {
  const written = agent.adapter_config;
  const foreign = namesOutside(written, config);
  if (foreign !== undefined)
    throw new RunFailure('config', `adapter_config.${foreign} is not allowed on this instance`);
  try {
    const resolved = await resolveSecrets(database.db, run.company_id, written, vault);
    assertAdapterConfig(run.adapter_type, resolved.value);
    return resolved;
  } catch (err) {
    // A refusal may quote a value, but never a secret: the schemas' messages name locations.
    if (err instanceof ServiceError) throw new RunFailure('config', err.message);
    throw err;
  }
}

async function planProgram(
  settings: PlanSettings,
  run: Planned,
  agent: PromptAgent,
  adapter_config: AdapterConfig,
): Promise<AdapterPlan> {
  const { config, database } = settings;
  const on_issue = run.in_workspace === true ? run.issue_id : null;
  const stored = await agentPlace(database.db, run.agent_id, run.run_id, on_issue);
  if (stored === undefined) throw new RunFailure('internal', 'the agent is gone');
  const place = run.fresh === true ? { ...stored, session: null } : stored;
  const timeout_sec = secondsOf(adapter_config.timeout_seconds) ?? config.cli_timeout_sec;
  const walls = await sandboxOf(settings, run, place.company, adapter_config);
  const folders = run.audience?.private_to_user_id
    ? await makePrivateFolders(config, run)
    : await makeFolders(config, run.agent_id, place, run.run_id, run.in_workspace);
  return {
    task: {
      ...baseTask(run, modelOf(agent, adapter_config), adapter_config),
      provider: null,
      timeouts: { idle_sec: timeout_sec, total_sec: timeout_sec },
      program: programOf(config, run, walls, { folders, place, timeout_sec }),
    },
    provider: run.adapter_type,
    provider_id: null,
    // A CLI continues its session; other programs keep no state to answer to.
    max_turns: isCli(run.adapter_type) ? MAX_TURNS : 1,
    metered: false,
    sees: false,
    secrets: [
      ...(isCli(run.adapter_type) ? passedSecrets(config) : []),
      ...(run.api_key === null ? [] : [run.api_key]),
    ],
    folders,
    session_version: place.session_version,
  };
}

type Walls = Pick<ProgramSpec, 'container' | 'sandbox'>;

async function sandboxOf(
  { config, database }: PlanSettings,
  { adapter_type }: Planned,
  company: AgentPlace['company'],
  adapter_config: AdapterConfig,
): Promise<Walls> {
  const list = async () => listOf(database, company.id);
  if (adapterTraits(adapter_type).container)
    return { container: await containerSpec(config, adapter_config, list) };
  return { container: null, sandbox: await localSandbox(config, adapter_type, company, list) };
}

function programOf(
  config: Config,
  run: Planned,
  walls: Walls,
  { folders, place, timeout_sec }: { folders: AgentFolders; place: AgentPlace; timeout_sec: number },
): ProgramSpec {
  const { adapter_type } = run;
  const { home, cwd, held } = folders;
  const { cli } = adapterTraits(adapter_type);
  const commands = { a: config.cli_a_command, b: config.cli_b_command };
  return {
    command: cli === null ? [] : commands[cli],
    home,
    cwd,
    home_identity: held.identity,
    checkHome: async () => asConfigured(async () => held.assertInPlace()),
    env: programEnvironment(config, home, run),
    timeout_sec,
    session: cli === null ? null : sessionOf(place.session),
    ...walls,
  };
}

async function planCloud(
  { config, database }: PlanSettings,
  run: Planned,
  agent: PromptAgent,
  adapter_config: AdapterConfig,
): Promise<AdapterPlan> {
  const timeout_sec = secondsOf(adapter_config.timeout_seconds) ?? LAMBDA_TIMEOUT_SEC;
  return {
    task: {
      ...baseTask(run, modelOf(agent, adapter_config), adapter_config),
      provider: null,
      timeouts: { idle_sec: timeout_sec, total_sec: timeout_sec },
      // The endpoint is the operator's, or derived from a region's name.
      cloud: {
        region: config.lambda_region,
        endpoint: config.lambda_endpoint,
        fetch: listedFetch(database, { ...run, door: 'function' }, createGuardedFetch({ egress: 'any' })),
      },
    },
    provider: run.adapter_type,
    provider_id: null,
    max_turns: 1,
    metered: false,
    sees: false,
    secrets: [],
    folders: null,
    session_version: null,
  };
}

/** Prefers the agent's own model; empty leaves the choice to the program. */
function modelOf(agent: PromptAgent, { model }: AdapterConfig): string {
  return agent.model ?? (typeof model === 'string' ? model : '');
}

function secondsOf(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined;
}
