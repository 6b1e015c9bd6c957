/** How long a call to an MCP server may take, and who is told what of one that takes longer. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { commandCatalogue } from '@acp/contract';
import type { ToolCall } from '@acp/core';
import { schema } from '@acp/db';
import { loadConfig, Vault } from '@acp/kernel';
import {
  actors,
  createCompany,
  databaseWithQueue,
  type HostileServer,
  startHostileServer,
  testLogger,
} from '@acp/testkit';
import { callToolCommand } from '../commands/call-tool.ts';
import { McpServers } from './mcp-servers.ts';

let server: HostileServer;
beforeAll(async () => {
  server = await startHostileServer();
  // It takes what it is sent, and says nothing.
  server.answer(() => undefined);
});
afterAll(() => server.close());

it('whoever waits for less than the server’s own limit learns that the server did not answer', async () => {
  const database = await databaseWithQueue();
  const { id: company_id } = await createCompany(database.db);
  const values = { company_id, name: 'slow', url: server.url, timeout_seconds: 120 };
  const [row] = await database.db.insert(schema.mcp_servers).values(values).returning();
  const config = loadConfig({ SERVICE_MCP_ALLOWED_HOSTS: '127.0.0.1' });
  const servers = new McpServers({
    database,
    config,
    logger: testLogger(),
    vault: new Vault(null),
    name: 'test',
    elsewhere: async () => Promise.reject(new Error('nobody else is asked')),
  });
  const actor = actors.user({ id: company_id, display_name: 'Olga' }, { [company_id]: 'admin' });
  const tool = { server_id: row!.id, remote_name: 'do', input_schema: {} };
  const call = { actor, company_id, input: {}, within_ms: 300 };
  await expect(servers.call(tool, call, AbortSignal.timeout(60_000))).rejects.toThrow(
    'slow: no answer in 0.3 s',
  );
  const calls = await database.db.select().from(schema.mcp_server_calls);
  expect(calls.map(({ error }) => error)).toEqual(['no answer in 0.3 s']);
  await servers.stop();
});

it('a call that a request waits for ends before the request gives up', async () => {
  const database = await databaseWithQueue();
  const limits: (number | undefined)[] = [];
  const provider = {
    prepare: async ({ within_ms }: ToolCall) => {
      limits.push(within_ms);
      return Promise.resolve('done');
    },
  };
  const call = {};
  const tools = { resolve: async () => Promise.resolve({ call, provider }) };
  const command = callToolCommand({ database, tools } as never);
  const context = {
    command_id: '1',
    company_id: '1',
    actor: { kind: 'system', name: 'test' },
    signal: AbortSignal.timeout(60_000),
  };
  expect(await command({ name: 'slow__do', input: {} }, context as never)).toEqual({ answer: 'done' });
  expect(limits[0]).toBeLessThan(commandCatalogue['call-tool'].deadline_sec * 1000);
});
