import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { probeIdentity } from './index.ts';

const SECRET = 'secret-access-key-of-the-company';
const credentials = { region: 'eu-central-1', access_key_id: 'AKIDEXAMPLE', secret_access_key: SECRET };

let cloud: Server;
let answer = { status: 200, body: '{}' };
const requests: { host: string; url: string; headers: IncomingMessage['headers'] }[] = [];

beforeAll(async () => {
  cloud = createServer((_request, response) => {
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  });
  cloud.listen(0, '127.0.0.1');
  await once(cloud, 'listening');
});

afterAll(() => {
  cloud.closeAllConnections();
  cloud.close();
});

/** Serves the cloud's hosts locally. */
const there: typeof fetch = async (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const headers = Object.fromEntries(new Headers(init?.headers));
  requests.push({ host: url.host, url: url.search, headers });
  const { port } = cloud.address() as AddressInfo;
  return fetch(`http://127.0.0.1:${port}${url.pathname}${url.search}`, init);
};

const probe = async (api_key: string | null) =>
  probeIdentity({ family: 'family_cloud', api_key, base_url: null, fetch: there }, AbortSignal.timeout(5000));

describe('who calls the cloud', () => {
  it('is asked in the region of the credentials, signed with them', async () => {
    answer = { status: 200, body: '{"GetCallerIdentityResponse":{}}' };
    expect(await probe(JSON.stringify(credentials))).toEqual({
      ok: true,
      model_count: null,
      models: null,
      latency_ms: expect.any(Number),
      error: null,
    });
    const [request] = requests.splice(0);
    expect(request).toMatchObject({ host: 'sts.eu-central-1.amazonaws.com' });
    expect(request!.url).toContain('Action=GetCallerIdentity');
    expect(request!.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/sts\/aws4_request/,
    );
  });

  it('is refused with the cloud’s word for it, without the secret', async () => {
    answer = {
      status: 403,
      body: JSON.stringify({ Error: { Code: 'InvalidClientTokenId' }, message: `no ${SECRET}` }),
    };
    const result = await probe(JSON.stringify(credentials));
    expect(result).toMatchObject({ ok: false, error: expect.stringContaining('403') });
    expect(result.error).not.toContain(SECRET);
  });

  it('is not asked without a region, nor without credentials', async () => {
    requests.splice(0);
    expect(await probe('{}')).toMatchObject({
      ok: false,
      error: 'cloud credentials need a region, for example us-east-1',
    });
    expect(await probe(null)).toMatchObject({ ok: false });
    expect(requests).toEqual([]);
  });
});
