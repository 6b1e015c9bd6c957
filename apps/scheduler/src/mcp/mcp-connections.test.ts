import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type HostileServer, startHostileServer, waitFor } from '@acp/testkit';
import { McpConnections } from './mcp-connections.ts';

let server: HostileServer;
beforeAll(async () => {
  server = await startHostileServer();
});
afterAll(() => server.close());

it('a connection that two calls wait for is opened for both, whichever of them is called off', async () => {
  const opening = Promise.withResolvers<void>();
  server.answer(async (response) => {
    const { id, method } = JSON.parse(server.asked.at(-1)!.body) as { id?: number; method: string };
    if (method === 'initialize') await opening.promise;
    const about = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      serverInfo: { name: 'x', version: '1' },
    };
    const result = method === 'initialize' ? about : {};
    response.writeHead(id === undefined ? 202 : 200, { 'content-type': 'application/json' });
    response.end(id === undefined ? undefined : JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  const connections = new McpConnections();
  const target = { url: server.url, send: fetch, headers: {}, protocol_version: '2025-06-18' };
  const calledOff = new AbortController();
  const ping = async (signal: AbortSignal) => {
    const limits = { timeout_ms: 60_000, signal };
    return connections.use('ada', target, limits, async (connection) => connection.ping(limits));
  };
  const first = ping(calledOff.signal);
  const second = ping(AbortSignal.timeout(60_000));
  await waitFor(() => server.asked.length > 0);
  const reason = new Error('called off');
  calledOff.abort(reason);
  await expect(first).rejects.toThrow(reason.message);
  opening.resolve();
  await expect(second).resolves.toBeUndefined();
  await connections.close();
});

it('a connection that nobody waits for any more is not opened further', async () => {
  const hungUp = Promise.withResolvers<void>();
  server.answer((response) => void response.on('close', () => hungUp.resolve()));
  const connections = new McpConnections();
  const target = { url: server.url, send: fetch, headers: {}, protocol_version: '2025-06-18' };
  const limits = { timeout_ms: 60_000, signal: AbortSignal.timeout(200) };
  const called = connections.use('ada', target, limits, async (connection) => connection.ping(limits));
  await expect(called).rejects.toMatchObject({ name: 'TimeoutError' });
  await hungUp.promise;
  await connections.close();
});
