import { type Config, engineEnvironment } from '@acp/kernel';
import { AdapterError } from '../adapter-error.ts';
import type { CurrentList } from '../sandbox/reach.ts';
import type { Route } from '../sandbox/route.ts';
import type { ContainerSpec } from '../task.ts';
import { ownPlace, programReach, type WayOutConfig } from './local-sandbox.ts';
import { type LimitsConfig, sandboxLimits } from './sandbox-limits.ts';

/** In place of a network name: only the proxy. */
const PROXY = 'proxy';

type ContainerConfig = Pick<Config, 'cli_sandbox_image' | 'container_cli' | 'sandbox_network'> &
  LimitsConfig &
  WayOutConfig;

/**
 * The container for a run according to the operator's rules, with the agent's image or else the operator's. If the company has
 * a host list, the proxy is its only network. Throws AdapterError `config` if neither names an image.
 */
export async function containerSpec(
  config: ContainerConfig,
  { image }: Record<string, unknown>,
  list: CurrentList,
  route: Route | null = null,
): Promise<ContainerSpec> {
  const chosen = typeof image === 'string' ? image : config.cli_sandbox_image;
  if (chosen === null)
    throw new AdapterError('config', 'no image is configured: SERVICE_CLI_SANDBOX_IMAGE is not set');
  // A list can't be enforced on a network that leads elsewhere.
  const proxied = config.sandbox_network === PROXY || route !== null || (await list()) !== null;
  return {
    ...(proxied && { reach: programReach(config, list, route), loopback: ownPlace(config) }),
    cli: config.container_cli,
    cli_env: engineEnvironment(),
    image: chosen,
    ...sandboxLimits(config),
    network: proxied ? 'none' : config.sandbox_network,
  };
}
