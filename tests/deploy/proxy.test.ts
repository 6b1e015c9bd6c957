import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { clientAddress, loadConfig, parseTrustedProxies } from '@acp/kernel';
import { cloneDatabase, startService, type ServiceProcess, waitFor } from '@acp/testkit';
import { type Api, baseEnv, createTeam, signIn } from '../process/api.ts';
import { readCompose } from './files.ts';
import { ask, type Nginx, nginxConf, startNginx, why, withNginx } from './nginx.ts';

const MIB = 2 ** 20;

withNginx(`the proxy before a server that tells what it hears${why}`, () => {
  let upstream: Server;
  let nginx: Nginx;
  let streaming: ((response: ServerResponse) => void) | undefined;

  beforeAll(async () => {
    upstream = createServer((request, response) => {
      if (streaming !== undefined && /\/(live|chats)\//.test(request.url ?? '')) streaming(response);
      else response.setHeader('content-type', 'application/json').end(JSON.stringify(request.headers));
    }).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    nginx = await startNginx(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`);
  });
  afterAll(async () => {
    await nginx.stop();
    upstream.closeAllConnections();
    upstream.close();
  });

  it('passes on the client’s own address, whatever the client says of itself', async () => {
    const forged = {
      host: 'agents.example.com',
      'x-forwarded-for': '203.0.113.9, 172.30.57.2',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'for=203.0.113.9;proto=https',
    };
    const { body } = await ask(nginx.url, '/api/me', { from: '127.0.0.5', headers: forged });
    const heard = JSON.parse(body) as Record<string, string>;
    expect(heard).toMatchObject({
      host: 'agents.example.com',
      'x-forwarded-host': 'agents.example.com',
      'x-forwarded-for': '127.0.0.5',
    });
    expect(heard).not.toHaveProperty('x-forwarded-proto');
    expect(heard).not.toHaveProperty('forwarded');
    const trusted = readCompose().services.web!.environment!.SERVICE_TRUSTED_PROXIES!;
    const proxy = trusted.split('/')[0];
    expect(clientAddress(proxy, heard['x-forwarded-for'], parseTrustedProxies(trusted))).toBe('127.0.0.5');
  });

  it.each([
    ['a live stream', '/api/live/events', {}],
    ['a chat’s stream', '/api/chats/1/messages/stream', { 'x-accel-buffering': 'no' }],
  ])('lets every event of %s through as it is sent', async (_what, path, headers) => {
    const opened = new Promise<ServerResponse>((resolve) => {
      streaming = resolve;
    });
    const answer = fetch(`${nginx.url}${path}`);
    const source = await opened;
    source.writeHead(200, { 'content-type': 'text/event-stream', ...headers }).flushHeaders();
    const reader = (await answer).body!.pipeThrough(new TextDecoderStream()).getReader();
    // Each is sent only after the previous one has arrived: a buffer would block this forever.
    for (const event of ['data: 1\n\n', ': a comment\n\n', 'data: 2\n\n']) {
      source.write(event);
      expect((await reader.read()).value).toBe(event);
    }
    source.end();
    expect((await reader.read()).done).toBe(true);
  });
});

withNginx(`the proxy before a server with a large file${why}`, () => {
  it('takes from it no more than its reader does: /tmp is memory', async () => {
    const whole = 64;
    let taken = 0;
    async function* file() {
      for (; taken < whole; taken += 1) yield Promise.resolve(Buffer.alloc(MIB));
    }
    const upstream = createServer((_request, response) => {
      void pipeline(file(), response);
    }).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const nginx = await startNginx(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`);
    const { hostname, port } = new URL(nginx.url);
    const reader = connect(Number(port), hostname);
    reader.write('GET /api/export HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    // Nobody reads: what is sent stands in the buffers of the connections.
    let before = 0;
    const standsStill = () => {
      const was = before;
      before = taken;
      return taken > 0 && taken === was;
    };
    await waitFor(standsStill, { what: 'the file to stand still' });
    expect(taken).toBeLessThan(whole / 2);
    let read = 0;
    for await (const chunk of reader) read += (chunk as Buffer).length;
    expect(read).toBeGreaterThan(whole * MIB);
    await nginx.stop();
    upstream.close();
  });
});

withNginx(`the proxy before a web tier${why}`, () => {
  const RPM = 40;
  let service: ServiceProcess;
  let nginx: Nginx;
  let api: Api;

  beforeAll(async () => {
    const { url } = await cloneDatabase('proxy');
    service = await startService({
      ...baseEnv,
      DATABASE_URL: url,
      SERVICE_ROLE: 'web',
      SERVICE_TRUSTED_PROXIES: '127.0.0.1/32',
      RATE_LIMIT_RPM: String(RPM),
    });
    nginx = await startNginx(service.url);
    api = await signIn(nginx);
  });
  afterAll(async () => nginx.stop());

  it('counts requests by the client’s address, not by what it claims', async () => {
    const statuses = new Set<number>();
    for (let each = 0; each <= RPM; each += 1) {
      const headers = { 'x-forwarded-for': `203.0.113.${each}` };
      statuses.add((await ask(nginx.url, '/login', { from: '127.0.0.5', headers })).status);
    }
    expect([...statuses]).toEqual([200, 429]);
    expect((await ask(nginx.url, '/login', { from: '127.0.0.6' })).status).toBe(200);
  });

  it('carries a live stream: what happens arrives at once', async () => {
    const { company_id } = await createTeam(api, []);
    const stream = await fetch(`${nginx.url}/api/live/events`, { headers: { cookie: api.cookie } });
    expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let heard = '';
    for (const title of ['First', 'Second']) {
      await api.call('POST', `/api/companies/${company_id}/issues`, { title });
      while (!heard.includes(`"title":"${title}"`)) heard += (await reader.read()).value ?? '';
    }
    expect(heard.match(/event: issue_created/g)).toHaveLength(2);
    await reader.cancel();
  });

  it('leaves the security headers as the service sets them, each once', async () => {
    const [direct, proxied] = await Promise.all([ask(service.url, '/login'), ask(nginx.url, '/login')]);
    const security = /^(content-security|strict-transport|x-frame|x-content-type|referrer|cross-origin)/;
    const of = (names: string[]) => names.filter((name) => security.test(name)).toSorted();
    expect(of(proxied.names)).toEqual(of(direct.names));
    expect(new Set(proxied.names).size).toBe(proxied.names.length);
    expect(proxied.headers['content-security-policy']).toBe(direct.headers['content-security-policy']);
    expect(of(direct.names)).toContain('content-security-policy');
    expect(proxied.headers.server).toBe('nginx');
  });

  it('keeps what is for operators inside, in every spelling', async () => {
    for (const target of ['/metrics', '/readyz', '/healthz/live'])
      expect((await ask(service.url, target)).status).not.toBe(404);
    const spellings = [
      '/metrics',
      '/metrics/',
      '/METRICS',
      '//metrics',
      '/%6detrics',
      '/metrics?x=1',
      '/metrics%2F',
    ];
    for (const target of [
      ...spellings,
      '/./metrics',
      '/api/../metrics',
      '/metrics;x',
      '/readyz',
      '/Readyz/',
    ]) {
      const { status, headers, body } = await ask(nginx.url, target, { from: '127.0.0.7' });
      // Paths passed on by nginx are not routes of the service: an unknown page redirects to the sign-in.
      const kept = status >= 400 || headers.location?.startsWith('/login') === true;
      expect([target, kept, body.includes('service_disk')]).toEqual([target, true, false]);
    }
    expect((await ask(nginx.url, '/healthz/live', { from: '127.0.0.7' })).status).toBe(200);
  });

  it('lets the service say what is too large, and says the same where it is far too large', async () => {
    const max = loadConfig({}).max_upload_size;
    const { company_id } = await createTeam(api, []);
    const upload = async (bytes: number) => {
      const head = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';
      const body = Buffer.concat([Buffer.from(head), Buffer.alloc(bytes), Buffer.from('\r\n--x--\r\n')]);
      const headers = { cookie: api.cookie, 'content-type': 'multipart/form-data; boundary=x' };
      return ask(nginx.url, `/api/companies/${company_id}/issues`, { method: 'POST', headers, body });
    };
    const refusals = [await upload(max + 1000), await upload(28 * MIB)];
    expect(refusals.map(({ status }) => status)).toEqual([413, 413]);
    for (const { headers, body } of refusals) {
      expect(headers['content-type']).toMatch(/^application\/json/);
      expect(JSON.parse(body)).toEqual({ error: expect.stringMatching(/^(?:file|payload) too large/) });
    }
    expect(refusals.map(({ headers }) => headers['x-request-id'] !== undefined)).toEqual([true, false]);
  });

  it('refuses what it can’t read in the service’s form', async () => {
    const { hostname, port } = new URL(nginx.url);
    const refusal = async (request: string) => {
      const socket = connect(Number(port), hostname);
      socket.end(request);
      const answer = await text(socket);
      return [Number(answer.slice(9, 12)), JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as unknown];
    };
    const long = 'x'.repeat(10_000);
    expect(await refusal('GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n')).toEqual([
      400,
      { error: 'malformed request' },
    ]);
    expect(await refusal('no HTTP at all\r\n\r\n')).toEqual([400, { error: 'malformed request' }]);
    expect(await refusal(`GET /${long} HTTP/1.1\r\nHost: a\r\n\r\n`)).toEqual([
      414,
      { error: 'the address is too long' },
    ]);
    expect(await refusal(`GET / HTTP/1.1\r\nHost: a\r\nX: ${long}\r\n\r\n`)).toEqual([
      431,
      { error: 'request header fields too large' },
    ]);
  });

  it('answers in the service’s form when no web process does', async () => {
    const empty = await startNginx('http://127.0.0.1:1');
    const { status, body } = await ask(empty.url, '/api/live/events?Authorization=Bearer%20sk_secret');
    expect([status, JSON.parse(body)]).toEqual([503, { error: 'no web process answered' }]);
    await empty.stop();
    // Query strings are never logged (decisions 7.42).
    expect(empty.log()).not.toContain('sk_secret');
  });
});

withNginx(`the proxy’s limits${why}`, () => {
  it('are longer than a stream’s heartbeat, and never nginx’ own 60 s', () => {
    const times = [...nginxConf.matchAll(/^\s*proxy_(?:read|send)_timeout (\d+)([smh]);/gm)];
    expect(times).toHaveLength(2);
    const seconds = times.map(([, count, unit]) => Number(count) * { s: 1, m: 60, h: 3600 }[unit as 's']);
    // The specification's hint: about five minutes.
    expect(seconds).toEqual([300, 300]);
  });

  it('are a little above the service’s own', () => {
    const [, megabytes] = /client_max_body_size (\d+)m;/.exec(nginxConf)!;
    const allowed = Number(megabytes) * MIB - loadConfig({}).max_upload_size;
    expect(allowed).toBeGreaterThan(MIB);
    expect(allowed).toBeLessThan(5 * MIB);
  });
});
