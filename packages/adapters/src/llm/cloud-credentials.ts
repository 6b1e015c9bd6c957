import { AdapterError } from '../adapter-error.ts';

/** The credentials blob of a cloud provider (specification, section Provider). */
export interface CloudCredentials {
  region: string;
  access_key_id?: string;
  secret_access_key?: string;
  session_token?: string;
}

function text(fields: Record<string, unknown>, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string')
    throw new AdapterError('config', `cloud credentials: ${name} must be a text`);
  return value;
}

export function parseCloudCredentials(blob: string | null): CloudCredentials {
  let parsed: unknown;
  try {
    parsed = JSON.parse(blob ?? '');
  } catch {
    // The parser's message would quote the blob.
    throw new AdapterError('config', 'the api_key of a cloud provider must be a JSON credentials blob');
  }
  if (typeof parsed !== 'object' || parsed === null) {
    throw new AdapterError('config', 'cloud credentials must be a JSON object');
  }
  const fields: Record<string, unknown> = { ...parsed };
  const region = text(fields, 'region');
  // The region becomes part of a host name.
  if (region === undefined || !/^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/.test(region)) {
    throw new AdapterError('config', 'cloud credentials need a region, for example us-east-1');
  }
  const credentials = {
    region,
    access_key_id: text(fields, 'access_key_id'),
    secret_access_key: text(fields, 'secret_access_key'),
    session_token: text(fields, 'session_token'),
  };
  if ((credentials.access_key_id === undefined) !== (credentials.secret_access_key === undefined)) {
    throw new AdapterError(
      'config',
      'cloud credentials need both access_key_id and secret_access_key, or neither',
    );
  }
  return credentials;
}

export interface SigningKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

let chain: Promise<() => Promise<SigningKeys>> | undefined;

// One provider for the process: it keeps temporary keys until they expire.
export async function defaultSigningKeys(): Promise<SigningKeys> {
  chain ??= import('@aws-sdk/credential-provider-node').then(({ defaultProvider }) => defaultProvider());
  const provide = await chain;
  try {
    return await provide();
  } catch {
    throw new AdapterError(
      'config',
      'no cloud credentials: neither in the provider nor by the default chain of the platform',
    );
  }
}

/** The keys to sign with: the blob's, else those of the platform's default chain. */
export async function signingKeys(credentials: CloudCredentials): Promise<SigningKeys> {
  const { access_key_id: id, secret_access_key: secret, session_token: token } = credentials;
  if (id === undefined || secret === undefined) return defaultSigningKeys();
  return { accessKeyId: id, secretAccessKey: secret, sessionToken: token };
}
