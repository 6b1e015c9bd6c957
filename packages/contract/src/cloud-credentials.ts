import { invalid, said } from '@acp/kernel';

/** The credentials of a cloud provider (specification, section Provider). */
export interface CloudCredentials {
  region: string;
  access_key_id?: string;
  secret_access_key?: string;
  session_token?: string;
}

/**
 * Parses the `api_key` of a cloud provider. Without keys, the platform's default credential chain is used.
 * @throws invalid, never quoting the input
 */
export function parseCloudCredentials(blob: string | null): CloudCredentials {
  let parsed: unknown;
  try {
    parsed = JSON.parse(blob ?? '');
  } catch {
    // The parser's message would quote the input.
    throw invalid('the api_key of a cloud provider must be a JSON credentials blob');
  }
  if (typeof parsed !== 'object' || parsed === null) throw invalid('cloud credentials must be a JSON object');
  const fields: Record<string, unknown> = { ...parsed };
  const region = text(fields, 'region');
  // The region becomes part of a host name.
  if (region === undefined || !/^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/.test(region))
    throw invalid('cloud credentials need a region, for example us-east-1');
  const credentials = {
    region,
    access_key_id: text(fields, 'access_key_id'),
    secret_access_key: text(fields, 'secret_access_key'),
    session_token: text(fields, 'session_token'),
  };
  if ((credentials.access_key_id === undefined) !== (credentials.secret_access_key === undefined))
    throw invalid('cloud credentials need both access_key_id and secret_access_key, or neither');
  return credentials;
}

function text(fields: Record<string, unknown>, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw invalid(said`cloud credentials: ${name} must be a text`);
  return value;
}
