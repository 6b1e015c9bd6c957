import { type Config, engineEnvironment } from '@acp/kernel';
import { AdapterError } from '../adapter-error.ts';
import type { ContainerSpec } from '../task.ts';

type ContainerConfig = Pick<
  Config,
  | 'cli_sandbox_image'
  | 'container_cli'
  | 'sandbox_memory_limit'
  | 'sandbox_cpu_limit'
  | 'sandbox_pids_limit'
  | 'sandbox_network'
>;

/**
 * The container of a run by the operator's rules, with the agent's image, else the operator's. Throws AdapterError
 * `config` where neither names one.
 */
export function containerSpec(config: ContainerConfig, { image }: Record<string, unknown>): ContainerSpec {
  const chosen = typeof image === 'string' ? image : config.cli_sandbox_image;
  if (chosen === null)
    throw new AdapterError('config', 'no image is configured: SERVICE_CLI_SANDBOX_IMAGE is not set');
  return {
    cli: config.container_cli,
    cli_env: engineEnvironment(),
    image: chosen,
    memory: config.sandbox_memory_limit,
    cpus: config.sandbox_cpu_limit,
    pids: config.sandbox_pids_limit,
    network: config.sandbox_network,
  };
}
