import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createGuardedFetch, EgressError, HostList, isForbiddenAddress, type Lookup } from './index.ts';

describe('forbidden addresses', () => {
  it.each(['1.1.1.1', '203.0.114.1', '2606:4700::1111', '::ffff:8.8.8.8'])(
    'leave %s to everyone',
    (address) => {
      expect([isForbiddenAddress(address, 'public'), isForbiddenAddress(address, 'any')]).toEqual([
        false,
        false,
      ]);
    },
  );

  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '169.254.1.1',
    '0.0.0.0',
    '100.64.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '198.18.0.1',
    '240.0.0.1',
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fd00::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    '::ffff:0:7f00:1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:db8::1',
  ])('keep %s from the public policy alone', (address) => {
    expect([isForbiddenAddress(address, 'public'), isForbiddenAddress(address, 'any')]).toEqual([
      true,
      false,
    ]);
  });

  it.each([
    '169.254.169.254',
    '169.254.170.2',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd20:ce::254',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '::a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    '::ffff:0:a9fe:a9fe',
    'FD00:EC2:0:0:0:0:0:254',
  ])('keep the metadata address %s from every policy', (address) => {
    expect([isForbiddenAddress(address, 'public'), isForbiddenAddress(address, 'any')]).toEqual([true, true]);
  });

  it.each(['', 'localhost', '127.1', '0x7f.0.0.1', '2130706433', '017700000001'])(
    'count %p, which is no address, as forbidden',
    (text) => {
      expect(isForbiddenAddress(text, 'any')).toBe(true);
    },
  );

  it('judge an IPv4 address and its mapped form alike', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom('public' as const, 'any' as const), (address, policy) =>
        expect(isForbiddenAddress(`::ffff:${address}`, policy)).toBe(isForbiddenAddress(address, policy)),
      ),
    );
  });
});

const to =
  (...addresses: string[]): Lookup =>
  (_hostname, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );

describe('the guarded fetch', () => {
  let server: Server;
  let port = 0;
  let seen: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      const target = new URL(request.url ?? '/', 'http://x').searchParams.get('to');
      if (target) response.writeHead(307, { location: target }).end();
      else void echo(request).then((body) => response.end(body));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const address = server.address();
    port = address && typeof address === 'object' ? address.port : 0;
  });

  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });

  const refused = async (promise: Promise<unknown>) => {
    seen = [];
    await expect(promise).rejects.toBeInstanceOf(EgressError);
  };

  it('reaches a private server where any address is allowed, with method, headers and body', async () => {
    const guarded = createGuardedFetch({ egress: 'any' });
    const init = { method: 'POST', headers: { 'x-a': '1' }, body: 'hello' };
    const url = `http://127.0.0.1:${port}/p`;
    for (const response of [
      await guarded(url, init),
      await guarded(new URL(url), init),
      await guarded(new Request(url, init)),
    ]) {
      expect(await response.json()).toEqual({ method: 'POST', a: '1', body: 'hello' });
    }
  });

  it('sends a form of the platform as a form', async () => {
    const form = new FormData();
    form.set('name', 'value');
    const response = await createGuardedFetch({ egress: 'any' })(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      body: form,
    });
    expect(await response.json()).toMatchObject({
      body: expect.stringContaining('name="name"\r\n\r\nvalue'),
    });
  });

  it.each(['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0'])(
    'refuses the literal %s to the public policy before connecting',
    async (host) => {
      await refused(createGuardedFetch({ egress: 'public' })(`http://${host}:${port}/`));
      expect(seen).toEqual([]);
    },
  );

  it('refuses a name that resolves to a private address, also among public ones', async () => {
    const url = `http://tenant.example:${port}/`;
    await refused(createGuardedFetch({ egress: 'public', lookup: to('127.0.0.1') })(url));
    await refused(createGuardedFetch({ egress: 'public', lookup: to('203.0.114.1', '127.0.0.1') })(url));
    await refused(createGuardedFetch({ egress: 'public', lookup: to() })(url));
    expect(seen).toEqual([]);
  });

  it('refuses metadata by name, literal and redirect even where any address is allowed', async () => {
    await refused(createGuardedFetch({ egress: 'any' })('http://169.254.169.254/latest'));
    await refused(
      createGuardedFetch({ egress: 'any', lookup: to('169.254.169.254') })('http://metadata.example/'),
    );
    await refused(
      createGuardedFetch({ egress: 'any' })(`http://127.0.0.1:${port}/?to=http://169.254.169.254/`),
    );
    expect(seen).toHaveLength(1);
  });

  it('connects to the address that it checked and asks for a name once', async () => {
    let asked = 0;
    const rebinding: Lookup = (hostname, done) =>
      to(asked++ === 0 ? '127.0.0.1' : '169.254.169.254')(hostname, done);
    const response = await createGuardedFetch({ egress: 'any', lookup: rebinding })(
      `http://tenant.example:${port}/`,
    );
    expect(response.status).toBe(200);
    expect(asked).toBe(1);
  });

  it('exempts the hosts that the operator lists, but not their redirects', async () => {
    const listed = createGuardedFetch({ egress: 'public', allow_hosts: [`127.0.0.1:${port}`] });
    expect((await listed(`http://127.0.0.1:${port}/`)).status).toBe(200);
    await refused(listed(`http://127.0.0.1:${port}/?to=http://127.0.0.1:2/`));
    const byName = createGuardedFetch({
      egress: 'public',
      allow_hosts: ['Peer.example'],
      lookup: to('127.0.0.1'),
    });
    expect((await byName(`http://peer.example:${port}/`)).status).toBe(200);
  });

  it('says where the operator could exempt a host, unless nothing exempts its address', async () => {
    const why = async (address: string, url: string) => {
      const lookup = to(address);
      const guarded = createGuardedFetch({ egress: 'public', allowed_in: 'SERVICE_X_HOSTS', lookup });
      return guarded(url).catch((error: unknown) => (error as Error).message);
    };
    const hint = ', unless the operator lists the host in SERVICE_X_HOSTS';
    expect(await why('10.0.0.1', 'http://hooks.example/')).toBe(
      `request to hooks.example refused: it resolves to an address that is not allowed${hint}`,
    );
    expect(await why('10.0.0.1', 'http://10.0.0.1/')).toBe(
      `request to 10.0.0.1 refused: address is not allowed${hint}`,
    );
    for (const url of ['http://metadata.example/', 'http://169.254.169.254/'])
      expect(await why('169.254.169.254', url)).toMatch(/not allowed$/);
  });

  it('keeps to the only hosts it may reach, redirects included', async () => {
    const only = createGuardedFetch({ egress: 'any', only_hosts: ['127.0.0.1'] });
    expect((await only(`http://127.0.0.1:${port}/`)).status).toBe(200);
    await refused(only(`http://127.0.0.1:${port}/?to=http://localhost:${port}/stolen`));
    expect(seen).toHaveLength(1);
  });

  it('stops when the caller’s signal does, and lets other failures through', async () => {
    const guarded = createGuardedFetch({ egress: 'any' });
    await expect(guarded(`http://127.0.0.1:${port}/`, { signal: AbortSignal.abort() })).rejects.toThrow(
      'aborted',
    );
    await expect(guarded('http://127.0.0.1:2/')).rejects.toBeInstanceOf(TypeError);
  });

  it('held to a list of hosts reaches these alone, by redirects and over connections that are open too', async () => {
    const open = createGuardedFetch({ egress: 'any' });
    const [here, other] = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
    await (await open(`${other}/`)).text();
    const held = open.within(HostList.of([`127.0.0.1:${port}`]));
    expect((await held(`${here}/`)).status).toBe(200);
    await refused(held(`${other}/`));
    await refused(held(`${here}/?to=${other}/`));
    await refused(held(new Request(`${other}/`)));
    await refused(open.within(HostList.of([]))(`${here}/`));
    expect(seen).toEqual([]);
    expect((await open.within(null)(`${other}/`)).status).toBe(200);
    // No list allows what the fetch itself refuses.
    await refused(
      createGuardedFetch({ egress: 'public' }).within(HostList.of([`127.0.0.1:${port}`]))(`${here}/`),
    );
  });
});

async function echo(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return JSON.stringify({ method: request.method, a: request.headers['x-a'], body });
}
