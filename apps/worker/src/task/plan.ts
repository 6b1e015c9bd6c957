import {
  AdapterError,
  type AdapterTask,
  containerSpec,
  localSandbox,
  passedSecrets,
  programEnvironment,
  routeOf,
  type ProgramSpec,
  secretsOf,
} from '@acp/adapters';
import { assertAdapterConfig, createValidator, RemoteConfig, type TaskPayload } from '@acp/contract';
import { HostList, ServiceError, type WorkerConfig } from '@acp/kernel';
import { makeTaskFolders, type TaskFolders } from './folders.ts';
import type { TaskPrompt } from './prompt.ts';
import { providerOf } from './provider.ts';

/** How to execute a task, with the secrets to scrub and the folders to remove. */
export interface TaskPlan {
  task: AdapterTask;
  secrets: string[];
  folders: TaskFolders | null;
}

interface PlanInput {
  config: WorkerConfig;
  /** Parent folder of all tasks' homes. */
  root: string;
  payload: TaskPayload;
  prompt: TaskPrompt;
}

type AdapterConfig = Record<string, unknown>;
type Local = 'llm' | 'cli_a_local' | 'docker';

const readRemoteConfig = createValidator(RemoteConfig, 'adapter_config');
const MAX_OUTPUT_TOKENS = 8192;
const TIMEOUT_SEC = 600;
/** Options of the operator's command that skip permission checks. */
const DANGEROUS =
  /^--(?:dangerously-skip-permissions|allow-dangerously-skip-permissions|permission-mode=bypassPermissions)$/;

/**
 * Chooses a task's adapter and checks the agent's configuration against this machine's rules. Throws AdapterError `config`, in
 * words for the agent's owner.
 */
export async function planTask(input: PlanInput): Promise<TaskPlan> {
  const { payload, config } = input;
  const written = payload.adapter_config;
  const local = localType(written);
  const timeout_sec = secondsOf(written) ?? TIMEOUT_SEC;
  const base: Omit<AdapterTask, 'provider' | 'model' | 'timeouts'> = {
    run_id: payload.run_id,
    adapter_type: local,
    system_prompt: input.prompt.system_prompt,
    messages: [{ role: 'user', content: input.prompt.user_message }],
    max_output_tokens: MAX_OUTPUT_TOKENS,
    adapter_config: usableConfig(local, payload, config),
  };
  const own = [payload.service_api_key, payload.project_module_token].filter((each) => each !== undefined);
  if (local === 'llm') {
    const provider = providerOf(config, written.base_url, listOf(payload));
    const model = textOf(written.model) ?? config.default_llm_model;
    if (model === null)
      throw new AdapterError('config', 'this worker has no model: SERVICE_DEFAULT_LLM_MODEL is not set');
    const total_sec = Math.min(timeout_sec, config.llm_timeout_sec);
    const timeouts = { idle_sec: Math.min(config.llm_idle_timeout_sec, total_sec), total_sec };
    return {
      task: { ...base, provider, model, timeouts },
      secrets: [...own, ...secretsOf(provider)],
      folders: null,
    };
  }
  const walls = await wallsOf(config, local, payload);
  const folders = await makeTaskFolders(input.root, payload.run_id);
  const program = programOf(config, payload, folders, { ...walls, timeout_sec });
  const timeouts = { idle_sec: timeout_sec, total_sec: timeout_sec };
  const model = textOf(written.model) ?? '';
  return {
    task: { ...base, provider: null, model, timeouts, program, payload },
    secrets: [...own, ...(local === 'docker' ? [] : passedSecrets(config))],
    folders,
  };
}

function localType(written: AdapterConfig): Local {
  const { local_adapter_type: type = 'llm' } = valid(() => readRemoteConfig(written));
  if (type === 'llm' || type === 'cli_a_local' || type === 'docker') return type;
  throw new AdapterError(
    'config',
    `this worker does not run ${type.slice(0, 100)}: it has llm, cli_a_local and docker`,
  );
}

/** If the payload says nothing, acting without asking is for the worker to permit: it does not. */
function usableConfig(local: Local, payload: TaskPayload, config: WorkerConfig): AdapterConfig {
  const written = {
    ...payload.adapter_config,
    allow_dangerous_permissions: payload.allow_dangerous_permissions ?? false,
  };
  valid(() => assertAdapterConfig(local, written));
  if (local !== 'docker') return written;
  const { image, env } = written as AdapterConfig;
  const { docker_images: images } = config;
  if (images.length > 0 && !images.includes(String(image)))
    throw new AdapterError(
      'config',
      'adapter_config.image is not one that this worker allows (SERVICE_DOCKER_IMAGES)',
    );
  if (/\$\{secret:/.test(JSON.stringify(env ?? {})))
    throw new AdapterError(
      'config',
      'adapter_config.env refers to secrets of the service, which do not leave it',
    );
  return written;
}

type Walls = Pick<ProgramSpec, 'container' | 'sandbox'>;

/** Combines the operator's rules with the company's host list and way out; what can't be confined to them is refused. */
async function wallsOf(config: WorkerConfig, local: Local, payload: TaskPayload): Promise<Walls> {
  const known = listOf(payload);
  const list = async () => Promise.resolve(known);
  const own = { ...config, public_url: config.server_url };
  const route = routeOf(payload.egress_proxy, payload.egress_dns_addr);
  if (local === 'docker') return { container: await containerSpec(own, payload.adapter_config, list, route) };
  const company = { id: payload.company_id, slug: '' };
  return { container: null, sandbox: await localSandbox(own, local, company, list, route) };
}

/** The company's host list; null: none. */
function listOf({ egress_allowlist: hosts }: TaskPayload): HostList | null {
  return hosts === undefined ? null : HostList.of(hosts);
}

function programOf(
  config: WorkerConfig,
  payload: TaskPayload,
  { home, cwd }: TaskFolders,
  walls: Walls & { timeout_sec: number },
): ProgramSpec {
  const { run_id, agent_id, issue, service_api_key } = payload;
  const identity = {
    adapter_type: walls.container === null ? 'cli_a_local' : 'docker',
    run_id,
    agent_id,
    issue_id: issue?.id ?? null,
    api_key: service_api_key ?? null,
  };
  const isRefused = payload.allow_dangerous_permissions === false;
  return {
    command: config.cli_a_command.filter((word) => !isRefused || !DANGEROUS.test(word)),
    home,
    cwd,
    // The address of the service that is known to work from here.
    env: programEnvironment({ ...config, public_url: config.server_url }, home, identity),
    // Each task has its own home, so another task's session can't be found in it.
    session: null,
    ...walls,
  };
}

function valid<T>(read: () => T): T {
  try {
    return read();
  } catch (err) {
    if (err instanceof ServiceError) throw new AdapterError('config', err.message);
    throw err;
  }
}

function secondsOf({ timeout_seconds: value }: AdapterConfig): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}
