/** Connections that leave through the operator's proxy, or with names from the operator's name server. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { HostList } from '@acp/kernel';
import { type EgressProxy, startEgressProxy } from './egress-proxy.ts';
import { Reach, type ReachRules } from './reach.ts';
import { routeOf } from './route.ts';

const listening = async (server: Server): Promise<number> => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
};

/** Answers with the host that was asked for. */
const web = createServer((asked, answer) => answer.end(`web: ${asked.headers.host} ${asked.url}`));
/** The operator's proxy: it leads wherever it is asked to, which is always the same server, except to one place. */
const asked: { what: string; login: string | undefined }[] = [];
const upstream = createServer((to, answer) => {
  asked.push({ what: to.url ?? '', login: to.headers['proxy-authorization'] });
  answer.end(`proxied: ${to.headers.host}`);
});
upstream.on('connect', (to, inner) => {
  asked.push({ what: to.url ?? '', login: to.headers['proxy-authorization'] });
  if (to.url?.startsWith('forbidden.') === true) return inner.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  const outer = connect(webPort, '127.0.0.1', () => {
    inner.write('HTTP/1.1 200 OK\r\n\r\n');
    outer.pipe(inner).pipe(outer);
  });
  inner.on('error', () => outer.destroy());
  outer.on('error', () => inner.destroy());
});
/** Knows one name. */
const names = createSocket('udp4', (question, from) => {
  const isKnown = question.includes('known') && question.at(question.length - 3) === 1;
  const answer = Buffer.from(question);
  answer.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2);
  answer.writeUInt16BE(isKnown ? 1 : 0, 6);
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
  names.send(isKnown ? Buffer.concat([answer, record]) : answer, from.port, from.address);
});

let [webPort, upstreamPort, namesPort] = [0, 0, 0];
const proxies: EgressProxy[] = [];
beforeAll(async () => {
  [webPort, upstreamPort] = [await listening(web), await listening(upstream)];
  names.bind(0, '127.0.0.1');
  await once(names, 'listening');
  namesPort = names.address().port;
});
beforeEach(() => {
  asked.length = 0;
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.close();
  for (const server of [web, upstream]) {
    server.closeAllConnections();
    server.close();
  }
  names.close();
});

async function proxied(rules: ReachRules) {
  const reach = new Reach(rules);
  const proxy = await startEgressProxy({ port: 0 }, reach);
  proxies.push(proxy);
  return { reach, port: proxy.port! };
}

/** Plain HTTP, or through a tunnel. */
async function ask(port: number, place: string, way: 'plain' | 'tunnel'): Promise<string> {
  if (way === 'plain') {
    const [answer] = (await once(
      request({ port, host: '127.0.0.1', path: `http://${place}/x` }).end(),
      'response',
    )) as [AsyncIterable<Buffer> & { statusCode: number }];
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    return answer.statusCode === 200 ? text : String(answer.statusCode);
  }
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`CONNECT ${place} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const [said] = (await once(socket, 'data')) as [Buffer];
  const status = /^HTTP\/1\.1 (\d+)/.exec(String(said))?.[1] ?? '';
  if (status !== '200') return status;
  socket.write(`GET /x HTTP/1.1\r\nHost: ${place}\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text.split('\r\n\r\n')[1] ?? '';
}

const listed = (...hosts: string[]) => ({
  list: async () => Promise.resolve(HostList.of(hosts)),
  opens: true,
});

describe('a route through a proxy', () => {
  const through = (login = '') => routeOf(`http://${login}127.0.0.1:${upstreamPort}`, undefined);

  it('leads there with what is listed, and with nothing else', async () => {
    const company = listed('far.example:80', 'forbidden.example:80');
    const { port, reach } = await proxied({ places: [], company, route: through('a%40b:c@') });
    expect(await ask(port, 'far.example:80', 'plain')).toBe('proxied: far.example');
    expect(await ask(port, 'far.example:80', 'tunnel')).toBe('web: far.example:80 /x');
    for (const way of ['plain', 'tunnel'] as const)
      expect(await ask(port, 'elsewhere.example:80', way)).toBe('403');
    const login = `Basic ${Buffer.from('a@b:c').toString('base64')}`;
    expect(asked).toEqual([
      { what: 'http://far.example/x', login },
      { what: 'far.example:80', login },
    ]);
    // A refusal of the proxy's is one of ours.
    expect(await ask(port, 'forbidden.example:80', 'tunnel')).toBe('403');
    expect(reach.takeRefused()).toEqual([
      { host: 'elsewhere.example', port: 80, times: 2 },
      { host: 'forbidden.example', port: 80, times: 1 },
    ]);
  });

  it('is not taken to the service, nor to what is on this machine', async () => {
    const place = { host: 'localhost', port: webPort };
    const { port } = await proxied({ places: [place], route: through() });
    for (const way of ['plain', 'tunnel'] as const)
      expect(await ask(port, `localhost:${webPort}`, way)).toBe(`web: localhost:${webPort} /x`);
    expect(asked).toEqual([]);
  });

  it('does not let an address of the machines around be named', async () => {
    const company = listed('10.0.0.1:80', '169.254.169.254:80', 'localhost:80', '[::1]:80');
    const { port } = await proxied({ places: [], company, route: through() });
    // The proxy would resolve any spelling of an address.
    const spelled = [
      '167772161:80',
      '0xa.1:80',
      '012.0.0.1:80',
      '10.0.0.1.:80',
      '0xA9FEA9FE:80',
      '[::ffff:a00:1]:80',
    ];
    const own = ['localhost.:80', 'LOCALHOST:80', '[0:0::1]:80', '::1%lo:80'];
    for (const place of ['10.0.0.1:80', '169.254.169.254:80', ...spelled, ...own])
      expect([place, await ask(port, place, 'tunnel')]).toEqual([place, '403']);
    expect(asked).toEqual([]);
  });

  it('that is down leads nowhere', async () => {
    const dead = routeOf('http://127.0.0.1:1', undefined);
    const { port } = await proxied({ places: [], company: listed('far.example:80'), route: dead });
    for (const by of ['plain', 'tunnel'] as const) expect(await ask(port, 'far.example:80', by)).toBe('502');
  });
});

describe('a route with a name server', () => {
  it('asks it alone, and holds what it answers to the rules', async () => {
    const route = routeOf(undefined, `127.0.0.1:${namesPort}`);
    const given = await proxied({ places: [{ host: 'known.example', port: webPort }], route });
    expect(await ask(given.port, `known.example:${webPort}`, 'plain')).toBe(
      `web: known.example:${webPort} /x`,
    );
    // Listed only by the company, it may not be a machine of the operator.
    const { port, reach } = await proxied({ places: [], company: listed('known.example:80'), route });
    expect(await ask(port, 'known.example:80', 'tunnel')).toBe('403');
    expect(reach.hasRefused).toBe(true);
  });

  it('that can’t be used is refused by name', () => {
    expect(() => routeOf(undefined, 'dns.example:53')).toThrow('egress_dns_addr');
    for (const proxy of ['proxy.example:3128', 'socks5://proxy.example', 'http://a:100%@proxy.example', ''])
      expect(() => routeOf(proxy, undefined)).toThrow('egress_proxy');
    expect(routeOf(undefined, undefined)).toBeNull();
  });
});
