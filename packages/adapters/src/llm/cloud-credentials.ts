import { type CloudCredentials, parseCloudCredentials } from '@acp/contract';
import { ServiceError } from '@acp/kernel';
import { AdapterError } from '../adapter-error.ts';

/** Parses a cloud provider's credentials, which may be outdated or invalid by now. Throws AdapterError `config`. */
export function readCloudCredentials(blob: string | null): CloudCredentials {
  try {
    return parseCloudCredentials(blob);
  } catch (err) {
    throw err instanceof ServiceError ? new AdapterError('config', err.message) : err;
  }
}

interface SigningKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

let chain: Promise<() => Promise<SigningKeys>> | undefined;

// One per process: it caches temporary keys until they expire.
export async function defaultSigningKeys(): Promise<SigningKeys> {
  chain ??= import('@aws-sdk/credential-provider-node').then(({ default: { defaultProvider } }) =>
    defaultProvider(),
  );
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

/** The keys used for signing: those in the credentials, or the platform's default chain. */
export async function signingKeys(credentials: CloudCredentials): Promise<SigningKeys> {
  const { access_key_id: id, secret_access_key: secret, session_token: token } = credentials;
  if (id === undefined || secret === undefined) return defaultSigningKeys();
  return { accessKeyId: id, secretAccessKey: secret, sessionToken: token };
}
