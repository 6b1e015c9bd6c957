import { parseCloudCredentials } from '@acp/contract';
import type { ProviderSpec } from '../task.ts';

/** Everything about a provider that must stay secret, for the Scrubber. */
export function secretsOf({ family, api_key, custom_headers = {} }: ProviderSpec): string[] {
  const headers = Object.values(custom_headers);
  if (api_key === null) return headers;
  return [api_key, ...headers, ...(family === 'family_cloud' ? cloudSecrets(api_key) : [])];
}

function cloudSecrets(blob: string): string[] {
  try {
    const { access_key_id, secret_access_key, session_token } = parseCloudCredentials(blob);
    return [access_key_id, secret_access_key, session_token].filter((value) => value !== undefined);
  } catch {
    // Invalid credentials: the call will fail with the reason.
    return [];
  }
}
