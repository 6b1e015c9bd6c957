/** An MCP client that wants some of the tools only (docs/mcp.md): what it asks for is what it can list and call. */
import { beforeAll, expect, it } from '@jest/globals';
import { endpointTools, mcpToolsetNames, mcpToolsets } from '@acp/contract';
import { type Database, schema } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { databaseWithQueue } from '@acp/testkit';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { type Cast, createCast } from './cast.ts';
import { type Answer, rpc } from './mcp-messages.ts';

let database: Database;
let app: Express;
let cast: Cast;

/** A tool that an external server offers. */
const external = (name: string, read_only: boolean) => ({
  name,
  called: name,
  description: name,
  input_schema: { type: 'object' },
  read_only,
});

beforeAll(async () => {
  database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  app = createApp({
    database,
    logger,
    config: loadConfig({ RATE_LIMIT_RPM: '0' }),
    validate_responses: true,
  });
  cast = await createCast(database);
  await database.db.insert(schema.mcp_servers).values({
    company_id: cast.company_id,
    name: 'tracker',
    url: 'https://tracker.example/mcp',
    status: 'healthy',
    listed_tools: [external('find_ticket', true), external('close_ticket', false)],
    tool_count: 2,
  });
});

async function ask(query: string, method: string, params: object = {}): Promise<Answer['body']> {
  const answer = await request(app)
    .post(`/mcp/${cast.company_id}${query}`)
    .set(cast.board_admin.headers)
    .send(rpc(method, params));
  return answer.body as Answer['body'];
}
const names = async (query: string) => (await ask(query, 'tools/list')).result!.tools.map(({ name }) => name);
async function refusal(query: string, name: string, args: object = {}): Promise<string | undefined> {
  const { isError, content } = (await ask(query, 'tools/call', { name, arguments: args })).result!;
  return isError && (JSON.parse(content[0]!.text) as { error: string }).error;
}

it('lists the tools of the sets, and each tool is in one', async () => {
  const all = await names('');
  expect(all).toEqual(expect.arrayContaining(['create_issue', 'list_runs', 'tracker__close_ticket']));
  const bySet = await Promise.all(mcpToolsetNames.map(async (name) => names(`?toolsets=${name}`)));
  expect(bySet.flat().toSorted()).toEqual(all.toSorted());
  for (const [index, listed] of bySet.entries()) expect([index, listed.length > 0]).toEqual([index, true]);
  const some = await names('?toolsets=issues,%20knowledge');
  expect(some).toEqual(expect.arrayContaining(['create_issue', 'list_comments', 'create_note']));
  expect(some.filter((name) => /run|agent|ticket/.test(name))).toEqual([]);
  const slices = new Set<string>(endpointTools.map(({ row }) => row.id.split('.')[0]!));
  expect(new Set<string>(Object.values(mcpToolsets).flat())).toEqual(slices);
});

it('reads only, where that is asked for', async () => {
  const reading = await names('?read_only=true');
  expect(reading).toEqual(expect.arrayContaining(['get_issue', 'list_runs', 'tracker__find_ticket']));
  expect(reading.filter((name) => /^(?:create|update|delete|mark|invoke)_|close/.test(name))).toEqual([]);
});

it('calls nothing that it does not list', async () => {
  const missing = (name: string) => `there is no tool "${name}"`;
  expect(await refusal('?toolsets=runs', 'list_issues')).toBe(missing('list_issues'));
  expect(await refusal('?toolsets=runs', 'list_runs')).toBeUndefined();
  expect(await refusal('?read_only=true', 'create_issue', { title: 'x' })).toBe(missing('create_issue'));
  expect(await refusal('?read_only=true', 'tracker__close_ticket')).toBe(missing('tracker__close_ticket'));
  expect(await refusal('?toolsets=issues', 'tracker__find_ticket')).toBe(missing('tracker__find_ticket'));
  expect(await database.db.select().from(schema.issues)).toEqual([]);
});

it('is told at once of a set that there is not, and which there are', async () => {
  const { error } = await ask('?toolsets=issues,tickets', 'initialize', { protocolVersion: '2025-11-25' });
  expect(error).toMatchObject({
    code: -32_602,
    message: expect.stringMatching(/"tickets", only issues, planning, .* external$/),
  });
  expect((await ask('?read_only=perhaps', 'ping')).error).toMatchObject({ code: -32_602 });
});
