import { AdapterError } from './adapter-error.ts';
import { CallWatch } from './llm/call-watch.ts';
import { signingKeys, type CloudCredentials } from './llm/cloud-credentials.ts';
import { connectionTo, presentable, type Connection } from './llm/connection.ts';
import { failureOfThrown } from './llm/failure.ts';
import { watchedFetch } from './llm/watched-fetch.ts';
import type { ProviderSpec } from './task.ts';

export interface ModelsProbe {
  ok: boolean;
  model_count: number | null;
  latency_ms: number;
  error: string | null;
}

// Below the 30 s in which the caller's command must be answered (decisions 6).
const timeouts = { idle_sec: 20, total_sec: 20 };

interface ProbeRequest {
  url: string;
  headers: Record<string, string>;
}

async function cloudRequest(connection: Connection, credentials: CloudCredentials): Promise<ProbeRequest> {
  const { AwsV4Signer } = await import('aws4fetch');
  const { base_url: base, headers } = connection;
  // Models are listed by another service of the cloud than the one that runs them.
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

function countModels(body: unknown): number {
  const fields: Record<string, unknown> = typeof body === 'object' && body !== null ? { ...body } : {};
  for (const list of [body, fields['data'], fields['models'], fields['modelSummaries']]) {
    if (Array.isArray(list)) return list.length;
  }
  throw new AdapterError('config', 'the endpoint answered without a list of models');
}

async function listModels(connection: Connection, watch: CallWatch): Promise<number> {
  const requests = await requestsFor(connection);
  for (const [index, { url, headers }] of requests.entries()) {
    const request = watchedFetch({ base_url: url, watch, fetch: connection.fetch, stream: false });
    try {
      const response = await request(url, { headers: { ...headers, accept: 'application/json' } });
      return countModels(await watch.unlessOver(response.json()));
    } catch (error) {
      // The list has moved between releases of that API.
      const elsewhere = error instanceof AdapterError && error.status === 404 && index < requests.length - 1;
      if (!elsewhere) throw error;
    }
  }
  throw new AdapterError('config', 'the endpoint lists no models');
}

/** Lists the provider's models, which costs nothing: whether address and key are good. Never throws. */
export async function probeModels(provider: ProviderSpec, signal: AbortSignal): Promise<ModelsProbe> {
  const started = performance.now();
  const result = (count: number | null, error: string | null): ModelsProbe => ({
    ok: error === null,
    model_count: count,
    latency_ms: Math.round(performance.now() - started),
    error,
  });
  const watch = new CallWatch(signal, timeouts);
  let connection: Connection | null = null;
  try {
    connection = connectionTo(provider);
    return result(await listModels(connection, watch), null);
  } catch (thrown) {
    const reason: unknown = watch.signal.aborted ? watch.signal.reason : thrown;
    const failure = failureOfThrown(reason);
    return result(
      null,
      connection === null ? failure.message : presentable(failure, connection.scrubber).message,
    );
  } finally {
    watch.close();
  }
}
