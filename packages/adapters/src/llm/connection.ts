import { type CloudCredentials, type ProviderFamily, vendorBaseUrls } from '@acp/contract';
import { Scrubber } from '@acp/kernel';
import { AdapterError } from '../adapter-error.ts';
import type { ProviderSpec } from '../task.ts';
import { readCloudCredentials } from './cloud-credentials.ts';

/** A validated provider: the basis for every request of a call. */
export interface Connection {
  family: ProviderFamily;
  /** Without a trailing slash and without a query. */
  base_url: string;
  query: Record<string, string>;
  api_key: string;
  headers: Record<string, string>;
  credentials: CloudCredentials | null;
  fetch: typeof fetch;
  scrubber: Scrubber;
}

function defaultBaseUrl(family: ProviderFamily, credentials: CloudCredentials | null): string {
  // Always passed explicitly; otherwise the model library would read keys and base URLs from the environment.
  const own = vendorBaseUrls[family];
  if (own !== null) return own;
  if (family === 'family_compat') throw new AdapterError('config', 'the provider needs a base URL');
  return `https://bedrock-runtime.${credentials?.region}.amazonaws.com`;
}

function parseBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new AdapterError('config', 'the base URL is not an http(s) URL');
  // fetch rejects such URLs, and its error message would reveal the password.
  if (url.username !== '' || url.password !== '')
    throw new AdapterError('config', 'the base URL must not hold a password');
  return url;
}

function checkHeaders(headers: Record<string, string>, apiKey: string): void {
  try {
    const all = new Headers(headers);
    all.set('authorization', `Bearer ${apiKey}`);
  } catch {
    throw new AdapterError(
      'config',
      'the key or a custom header holds characters that no HTTP header can carry',
    );
  }
}

/** Throws AdapterError `config`, which never quotes a secret. */
export function connectionTo(provider: ProviderSpec): Connection {
  const { family, custom_headers: headers = {} } = provider;
  const credentials = family === 'family_cloud' ? readCloudCredentials(provider.api_key) : null;
  const apiKey = credentials === null ? (provider.api_key ?? '').trim() : '';
  if (apiKey === '' && credentials === null && family !== 'family_compat') {
    throw new AdapterError('config', 'the provider has no API key');
  }
  checkHeaders(headers, apiKey);
  const configured = provider.base_url?.trim() ?? '';
  const url = parseBaseUrl(configured === '' ? defaultBaseUrl(family, credentials) : configured);
  const { region: _region, ...cloudSecrets } = credentials ?? { region: '' };
  return {
    family,
    base_url: `${url.origin}${url.pathname}`.replace(/\/+$/, ''),
    query: Object.fromEntries(url.searchParams),
    api_key: apiKey,
    headers,
    credentials,
    fetch: provider.fetch ?? fetch,
    scrubber: new Scrubber(
      [apiKey, ...Object.values(headers), ...Object.values(cloudSecrets)].filter(
        (value) => value !== undefined,
      ),
    ),
  };
}

const longestMessage = 500;

/** The error in a form that may be shown and stored: scrubbed before clipping, so that no half of a secret remains. */
export function presentable(failure: AdapterError, scrubber: Scrubber): AdapterError {
  const clean = scrubber.scrub(failure.message);
  const message = clean.length > longestMessage ? `${clean.slice(0, longestMessage)}…` : clean;
  return new AdapterError(failure.category, message, failure);
}
