import { AdapterError, fetchFor, type ProviderSpec } from '@acp/adapters';
import type { HostList, WorkerConfig } from '@acp/kernel';

/** The worker's own model endpoint (SERVICE_DEFAULT_LLM_*); null if not configured. */
export function ownProvider(config: WorkerConfig, list: HostList | null = null): ProviderSpec | null {
  const { default_llm_provider: family, default_llm_base_url: base_url } = config;
  if (family === null) return null;
  return {
    family,
    api_key: config.default_llm_api_key,
    base_url,
    fetch: fetchFor({ ...config, llm_allowed_hosts: [] }, base_url).within(list),
  };
}

/**
 * The endpoint for a task: the worker's own, or the base URL in the agent's configuration. The worker's key is only sent to the
 * latter if the operator has listed its host (SERVICE_WORKER_LLM_ALLOWED_HOSTS), redirects included, and nothing is sent to a
 * host that the company does not allow. Throws AdapterError `config`.
 */
export function providerOf(config: WorkerConfig, base_url: unknown, list: HostList | null): ProviderSpec {
  const own = ownProvider(config, list);
  if (own === null)
    throw new AdapterError(
      'config',
      'this worker has no model endpoint: SERVICE_DEFAULT_LLM_PROVIDER is not set',
    );
  if (base_url === undefined || base_url === null || base_url === '') return own;
  const url = typeof base_url === 'string' && URL.canParse(base_url) ? new URL(base_url) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new AdapterError('config', 'adapter_config.base_url is not an http(s) URL');
  const ownUrl = own.base_url === null ? null : new URL(own.base_url);
  if (url.origin !== ownUrl?.origin && !isAllowed(url, config.worker_llm_allowed_hosts))
    throw new AdapterError(
      'config',
      `adapter_config.base_url: the worker’s key is not sent to ${url.host}, which SERVICE_WORKER_LLM_ALLOWED_HOSTS does not name`,
    );
  const send = fetchFor({ ...config, llm_allowed_hosts: [] }, url.href);
  return { ...own, base_url: url.href, fetch: send.within(list) };
}

/** A host listed without a port is allowed on any port. */
function isAllowed({ hostname, port, protocol }: URL, hosts: readonly string[]): boolean {
  const withPort = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
  return hosts.includes(hostname) || hosts.includes(withPort);
}
