import { AdapterError } from './adapter-error.ts';
import { signingKeys } from './llm/cloud-credentials.ts';
import { watchedFetch } from './llm/watched-fetch.ts';
import { type Probe, probed } from './probed.ts';
import type { ProviderSpec } from './task.ts';

/**
 * Asks the cloud for the caller's identity in the provider's region: tells whether the credentials are valid, whatever models
 * they may use. It is free and needs no permission. Never throws.
 */
export async function probeIdentity(provider: ProviderSpec, signal: AbortSignal): Promise<Probe> {
  return probed(provider, signal, async ({ credentials, fetch }, watch) => {
    if (credentials === null) throw new AdapterError('config', 'the provider has no cloud credentials');
    const { AwsV4Signer } = await import('aws4fetch');
    const { region } = credentials;
    const url = `https://sts.${region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15`;
    const keys = await signingKeys(credentials);
    const signed = await new AwsV4Signer({ ...keys, url, method: 'GET', region, service: 'sts' }).sign();
    const request = watchedFetch({ base_url: url, watch, fetch, stream: false });
    const response = await request(signed.url.href, {
      headers: { ...Object.fromEntries(signed.headers), accept: 'application/json' },
    });
    // Read to the end to free the connection; the identity itself is not used.
    await watch.unlessOver(response.text());
    return null;
  });
}
