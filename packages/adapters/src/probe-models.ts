import type { CloudCredentials } from '@acp/contract';
import { AdapterError } from './adapter-error.ts';
import type { CallWatch } from './llm/call-watch.ts';
import { signingKeys } from './llm/cloud-credentials.ts';
import type { Connection } from './llm/connection.ts';
import { watchedFetch } from './llm/watched-fetch.ts';
import { type ListedModels, type Probe, probed } from './probed.ts';
import type { ProviderSpec } from './task.ts';

interface ProbeRequest {
  url: string;
  headers: Record<string, string>;
}

async function cloudRequest(connection: Connection, credentials: CloudCredentials): Promise<ProbeRequest> {
  const { AwsV4Signer } = await import('aws4fetch');
  const { base_url: base, headers } = connection;
  // Another service of the cloud lists models than the one that runs them.
  const listing = base.replace(/^https:\/\/bedrock-runtime\./, 'https://bedrock.');
  const keys = await signingKeys(credentials);
  const signer = new AwsV4Signer({
    ...keys,
    url: `${listing}/foundation-models?byProvider=anthropic`,
    method: 'GET',
    headers,
    region: credentials.region,
    service: 'bedrock',
  });
  const signed = await signer.sign();
  return { url: signed.url.href, headers: Object.fromEntries(signed.headers) };
}

async function requestsFor(connection: Connection): Promise<ProbeRequest[]> {
  const { family, base_url: base, api_key: key, headers, credentials } = connection;
  if (credentials !== null) return [await cloudRequest(connection, credentials)];
  if (family === 'family_chat_b') {
    const own = { 'x-api-key': key, 'anthropic-version': '2023-06-01' };
    return [{ url: `${base}/models?limit=1000`, headers: { ...own, ...headers } }];
  }
  const query = new URLSearchParams(connection.query).toString();
  const suffix = query === '' ? '' : `?${query}`;
  const authorized = key === '' ? headers : { authorization: `Bearer ${key}`, ...headers };
  const paths = family === 'family_search' ? ['/models', '/v1/models'] : ['/models'];
  return paths.map((path) => ({ url: `${base}${path}${suffix}`, headers: authorized }));
}

function readModels(body: unknown): ListedModels {
  const fields: Record<string, unknown> = typeof body === 'object' && body !== null ? { ...body } : {};
  for (const list of [body, fields['data'], fields['models'], fields['modelSummaries']]) {
    if (Array.isArray(list)) return { count: list.length, ids: idsOf(list) };
  }
  throw new AdapterError('config', 'the endpoint answered without a list of models');
}

const MOST_IDS = 500;
const LONGEST_ID = 200;

/** Vendors use different fields for the id. */
function idsOf(models: readonly unknown[]): string[] {
  const ids = models.map((model) => {
    const fields: Record<string, unknown> = typeof model === 'object' && model !== null ? { ...model } : {};
    return fields['id'] ?? fields['modelId'] ?? fields['model'] ?? fields['name'] ?? model;
  });
  const usable = ids.filter(
    (id): id is string =>
      typeof id === 'string' && id !== '' && id.length <= LONGEST_ID && !/\p{Cc}/u.test(id),
  );
  return [...new Set(usable)].toSorted().slice(0, MOST_IDS);
}

async function listModels(connection: Connection, watch: CallWatch): Promise<ListedModels> {
  const requests = await requestsFor(connection);
  for (const [index, { url, headers }] of requests.entries()) {
    const request = watchedFetch({ base_url: url, watch, fetch: connection.fetch, stream: false });
    try {
      const response = await request(url, { headers: { ...headers, accept: 'application/json' } });
      return readModels(await watch.unlessOver(response.json()));
    } catch (error) {
      // The list has moved between releases of that API.
      const elsewhere = error instanceof AdapterError && error.status === 404 && index < requests.length - 1;
      if (!elsewhere) throw error;
    }
  }
  throw new AdapterError('config', 'the endpoint lists no models');
}

/** Lists the provider's models, which is free and tells whether address and key are valid. Never throws. */
export async function probeModels(provider: ProviderSpec, signal: AbortSignal): Promise<Probe> {
  return probed(provider, signal, listModels);
}
