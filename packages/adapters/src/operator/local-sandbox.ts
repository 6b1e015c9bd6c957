import { BUBBLEWRAP_MEND, findBubblewrap, pickEnvironment } from '@acp/kernel';
import type { Config } from '@acp/kernel';
import { AdapterError } from '../adapter-error.ts';
import { type CurrentList, isLoopback, Reach } from '../sandbox/reach.ts';
import type { Route } from '../sandbox/route.ts';
import type { EgressPlace } from '../sandbox/egress-place.ts';
import type { SandboxSpec } from '../task.ts';
import { shutIn, type ShutInConfig } from './sandbox-limits.ts';

type LocalConfig = Pick<
  Config,
  | 'cli_env_passthrough'
  | 'company_egress'
  | 'local_cli'
  | 'local_cli_egress'
  | 'local_cli_host_companies'
  | 'local_cli_readable'
  | 'public_url'
> &
  ShutInConfig;

export type WayOutConfig = Pick<
  Config,
  'cli_env_passthrough' | 'company_egress' | 'local_cli_egress' | 'public_url'
>;

/**
 * The sandbox for a CLI on this machine (decisions 10.9); undefined if the operator wants none for the company. Throws
 * AdapterError `config` if the CLI may not run here or can't be sandboxed.
 */
export async function localSandbox(
  config: LocalConfig,
  adapter_type: string,
  company: { id: string; slug: string },
  list: CurrentList,
  route: Route | null = null,
): Promise<SandboxSpec | undefined> {
  if (config.local_cli === 'off')
    throw new AdapterError('config', `${adapter_type} is switched off on this instance (SERVICE_LOCAL_CLI)`);
  if (config.local_cli === 'host' && isTrusted(config.local_cli_host_companies, company)) {
    if ((await list()) === null && route === null) return undefined;
    throw new AdapterError(
      'config',
      'the company’s list of hosts can’t be kept: SERVICE_LOCAL_CLI=host has no walls',
    );
  }
  const found = await findBubblewrap();
  if ('reason' in found)
    throw new AdapterError('config', `${adapter_type} can’t be shut in: ${found.reason}; ${BUBBLEWRAP_MEND}`);
  return {
    ...shutIn(config, found.file),
    readable: config.local_cli_readable,
    reach: programReach(config, list, route),
    loopback: ownPlace(config),
  };
}

/** Without a list, all companies are trusted. */
function isTrusted(companies: readonly string[], { id, slug }: { id: string; slug: string }): boolean {
  return companies.length === 0 || companies.includes(id) || companies.includes(slug);
}

/** What a company's programs can reach, in a sandbox or container: the operator's places and the company's list. */
export function programReach(config: WayOutConfig, list: CurrentList, route: Route | null = null): Reach {
  const { service, given } = placesOf(config);
  const company = { list, opens: config.company_egress === 'public' };
  return new Reach({ service, places: given, route, company });
}

/** The service's address if it is on this machine; otherwise null. */
export function ownPlace({ public_url }: Pick<Config, 'public_url'>): EgressPlace | null {
  const service = placeOfUrl(new URL(public_url));
  // Many programs access the machine's own addresses without a proxy.
  return isLoopback(service.host) ? service : null;
}

/** The service, the operator's list, and endpoints that the operator passes on in variables. */
function placesOf({ public_url, local_cli_egress, cli_env_passthrough }: WayOutConfig) {
  const urls = Object.values(pickEnvironment(cli_env_passthrough)).filter((value) =>
    /^https?:\/\//i.test(value),
  );
  return {
    service: placeOfUrl(new URL(public_url)),
    given: [
      ...local_cli_egress.map(placeOf),
      ...urls.filter((url) => URL.canParse(url)).map((url) => placeOfUrl(new URL(url))),
    ],
  };
}

function placeOfUrl({ hostname, port, protocol }: URL): EgressPlace {
  return placeOf(`${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`);
}

function placeOf(text: string): EgressPlace {
  const [, host = '', port = '443'] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(text) ?? [];
  return { host: host.toLowerCase().replaceAll(/^\[|\]$/g, ''), port: Number(port) };
}
