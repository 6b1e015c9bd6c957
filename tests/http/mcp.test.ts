/** The Model Context Protocol from the outside: the official clients of both generations, raw requests, and arbitrary input. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { endpointTools, toolTable } from '@acp/contract';
import { putFlag, systemActor } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { databaseWithQueue, testDatabase } from '@acp/testkit';
import * as fc from 'fast-check';
import { createApp } from '../../apps/web/src/app.ts';
import { InstanceState } from '../../apps/web/src/http/instance-state.ts';
import { listen, type WebServer } from '../../apps/web/src/http/server.ts';
import { createServices } from '../../apps/web/src/http/services.ts';
import { character } from './arbitraries.ts';
import { type Cast, createCast } from './cast.ts';
import { type Answer, rpc, stateless } from './mcp-messages.ts';
import { createStage, type Stage } from './stage.ts';

const NAMES = 'https://names.example/';
let database: Database;
let instance: InstanceState;
let server: WebServer;
let cast: Cast;
let stage: Stage;
let url: string;

const setFlag = async (flag: 'mcp' | 'prompt_evolution', value: boolean) =>
  transaction(database, async (tx) => putFlag(tx, systemActor('tests'), flag, { value }));

beforeAll(async () => {
  const { listener } = await testDatabase();
  database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'pretty', role: 'test' });
  const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_PUBLIC_URL: NAMES });
  instance = new InstanceState({ database, logger, listener });
  await setFlag('prompt_evolution', true);
  await instance.refresh();
  const services = createServices({ database, config, logger, instance });
  const app = createApp({ database, logger, config, services, listener, validate_responses: true });
  server = await listen(app, { host: '127.0.0.1', port: 0 });
  cast = await createCast(database);
  stage = await createStage(database, cast);
  url = `${server.url}/mcp/${cast.company_id}`;
});

afterAll(async () => {
  instance.close();
  await server.stop(0);
});

type Who = 'agent' | 'board_admin' | 'board_member' | 'board_viewer' | 'foreign_agent' | 'anonymous';

async function post(
  body: unknown,
  headers: Record<string, string> = {},
  who: Who = 'agent',
): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...cast[who].headers, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : (JSON.parse(text) as Answer['body']),
  };
}

const ask = async (method: string, params: object = {}, who: Who = 'agent') =>
  (await post(rpc(method, params), {}, who)).body;
const call = async (name: string, args: object = {}, who: Who = 'agent') =>
  (await ask('tools/call', { name, arguments: args }, who)).result!;

const headersOf = (who: Who) => ({ requestInit: { headers: cast[who].headers } });

async function client1(who: Who) {
  const client = new Client1({ name: 'test', version: '1' });
  await client.connect(new Transport1(new URL(url), headersOf(who)));
  return client;
}

async function client2(who: Who, mode: 'legacy' | 'auto') {
  const client = new Client2({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new Transport2(new URL(url), headersOf(who)));
  return client;
}

describe('the official clients', () => {
  it.each([
    ['SDK 1.x', client1],
    ['SDK 2.x, with sessions', async (who: Who) => client2(who, 'legacy')],
    ['SDK 2.x, stateless where it can', async (who: Who) => client2(who, 'auto')],
  ] as const)('%s: an agent lists, calls, reads, prompts and completes', async (_name, connect) => {
    const client = await connect('agent');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['create_issue', 'list_issues', 'get_me', 'put_document']),
    );
    // The client itself validates each response against the tool's output schema.
    const made = await client.callTool({ name: 'create_note', arguments: { title: 'By MCP' } });
    expect(made).toMatchObject({ structuredContent: { title: 'By MCP' } });
    const [block] = made.content as { type: string; text: string }[];
    expect(JSON.parse(block!.text)).toEqual(made.structuredContent);
    const seen = await client.callTool({ name: 'list_notes', arguments: { q: 'By MCP', limit: 1 } });
    expect(seen).toMatchObject({ structuredContent: { items: [{ title: 'By MCP' }] } });
    const refused = await client.callTool({ name: 'no_such_tool', arguments: {} });
    expect(refused).toMatchObject({ isError: true, content: [{ type: 'text' }] });

    const { resources } = await client.listResources();
    expect(resources.length).toBeGreaterThan(0);
    const read = await client.readResource({ uri: resources[0]!.uri });
    expect(read.contents[0]).toMatchObject({ uri: resources[0]!.uri, text: expect.any(String) });
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain('service://issues/{issue}');
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain('role:engineer');
    const prompt = await client.getPrompt({
      name: 'role:engineer',
      arguments: { issue: stage.issueId!, task: 'Mend it' },
    });
    expect(JSON.stringify(prompt.messages)).toMatch(/Staged.*Mend it/);
    const completed = await client.complete({
      ref: { type: 'ref/prompt', name: 'role:engineer' },
      argument: { name: 'issue', value: 'Staged' },
    });
    expect(completed.completion.values[0]).toMatch(/^C\w*-\d+$/i);
    await client.close();
  });

  it('without a key: 401 as JSON with the scheme, and nothing that looks like an authorization server', async () => {
    await expect(client1('anonymous')).rejects.toThrow('unauthenticated');
    const { status, headers } = await post(rpc('ping'), { accept: 'text/html' }, 'anonymous');
    expect([status, headers.get('www-authenticate'), headers.get('content-type')]).toEqual([
      401,
      'Bearer',
      expect.stringContaining('application/json'),
    ]);
    for (const path of ['oauth-protected-resource', 'oauth-authorization-server', 'openid-configuration'])
      for (const place of [`/.well-known/${path}`, `/.well-known/${path}/mcp/${cast.company_id}`]) {
        const response = await fetch(server.url + place, { headers: { accept: 'text/html' } });
        expect([response.status, await response.json()]).toEqual([404, { error: 'not found' }]);
      }
    for (const method of ['GET', 'DELETE'])
      expect((await fetch(url, { method, headers: cast.agent.headers })).status).toBe(405);
  });
});

describe('the era with sessions', () => {
  it('negotiates what the client asks for, else its own latest', async () => {
    for (const [asked, given] of [
      ['2024-11-05', '2024-11-05'],
      ['2025-03-26', '2025-03-26'],
      ['2025-06-18', '2025-06-18'],
      ['2025-11-25', '2025-11-25'],
      ['2026-07-28', '2025-11-25'],
      [undefined, '2025-11-25'],
    ])
      expect((await ask('initialize', { protocolVersion: asked })).result).toMatchObject({
        protocolVersion: given,
        serverInfo: { name: 'agent-control-plane' },
        capabilities: { tools: {}, resources: {}, prompts: {}, completions: {}, logging: {} },
      });
    expect((await ask('initialize', { protocolVersion: 1 })).error?.code).toBe(-32602);
  });

  it('answers a ping and a level of the log, takes notifications and answers of clients without a word', async () => {
    expect(await ask('ping')).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect(await ask('logging/setLevel', { level: 'warning' })).toMatchObject({ result: {} });
    expect((await ask('logging/setLevel', { level: 'loud' })).error?.code).toBe(-32602);
    for (const message of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
      { jsonrpc: '2.0', id: 5, result: {} },
    ])
      expect(await post(message)).toMatchObject({ status: 202, body: {} });
    expect((await post(rpc('notifications/initialized'))).body.result).toEqual({});
  });

  it.each([
    ['no JSON', '{', 400, -32700],
    ['a batch', [rpc('ping')], 400, -32600],
    ['no object', '7', 400, -32600],
    ['nothing', '', 400, -32600],
    ['another version of JSON-RPC', { jsonrpc: '1.0', id: 1, method: 'ping' }, 400, -32600],
    ['no method', { jsonrpc: '2.0', id: 1 }, 400, -32600],
    ['an id that is none', { jsonrpc: '2.0', id: null, method: 'ping' }, 400, -32600],
    ['params that are a list', { jsonrpc: '2.0', id: 1, method: 'ping', params: [] }, 200, -32602],
    ['an unknown method', rpc('tools/destroy'), 200, -32601],
    ['a method named like a property', rpc('constructor'), 200, -32601],
    ['too deep', rpc('tools/call', JSON.parse('{"a":'.repeat(80) + '1' + '}'.repeat(80))), 400, -32602],
    ['a cursor that is none', rpc('tools/list', { cursor: 'here' }), 200, -32602],
  ])('refuses %s', async (_what, body, status, code) => {
    const answer = await post(body);
    expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', error: { message: expect.any(String) } });
  });

  it('refuses an unknown version in the header, a page of elsewhere, and a host that was rebound', async () => {
    const version = await post(rpc('ping'), { 'mcp-protocol-version': '2019-01-01' });
    expect([version.status, version.body.error?.code]).toEqual([400, -32022]);
    const statusFrom = async (origin: string) => (await post(rpc('ping'), { origin })).status;
    expect(await statusFrom('https://evil.example')).toBe(403);
    expect(await statusFrom('null')).toBe(403);
    expect(await statusFrom(new URL(NAMES).origin)).toBe(200);
    expect(await statusFrom(server.url)).toBe(200);
  });
});

describe('the stateless era', () => {
  it('discovers, lists and calls with what each request says of itself', async () => {
    const discover = stateless('server/discover');
    const { body } = await post(discover.body, discover.headers);
    expect(body.result).toMatchObject({
      resultType: 'complete',
      supportedVersions: expect.arrayContaining(['2026-07-28', '2025-11-25']),
      capabilities: { tools: {}, resources: {}, prompts: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'agent-control-plane' } },
    });
    const list = stateless('tools/list');
    const listed = await post(list.body, list.headers);
    expect(listed.body.result).toMatchObject({ ttlMs: expect.any(Number), cacheScope: 'private' });
    const named = stateless('tools/call', { name: 'get_me', arguments: {} });
    const encoded = `=?base64?${Buffer.from('get_me').toString('base64')}?=`;
    for (const name of ['get_me', '  get_me ', encoded]) {
      const { body: called } = await post(named.body, { ...named.headers, 'mcp-name': name });
      expect(called.result).toMatchObject({
        resultType: 'complete',
        structuredContent: { id: cast.agent_id },
      });
    }
  });

  it('refuses what does not agree with itself, and what the era has no more', async () => {
    const { body, headers } = stateless('tools/call', { name: 'get_me', arguments: {} });
    const bare = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const tried = async (sent: object, head: Record<string, string>) => {
      const answer = await post(sent, head);
      return [answer.status, answer.body.error?.code];
    };
    const other = { ...headers, 'mcp-name': 'get_me' };
    expect(await tried(body, headers)).toEqual([400, -32020]);
    expect(await tried(body, { ...other, 'mcp-name': 'other' })).toEqual([400, -32020]);
    expect(await tried(body, { ...other, 'mcp-method': 'TOOLS/CALL' })).toEqual([400, -32020]);
    expect(await tried(body, { 'mcp-protocol-version': '2025-11-25' })).toEqual([400, -32020]);
    expect(await tried(bare, { 'mcp-protocol-version': '2026-07-28' })).toEqual([400, -32602]);
    for (const method of ['initialize', 'ping', 'logging/setLevel', 'subscriptions/listen'])
      expect(await tried(stateless(method).body, stateless(method).headers)).toEqual([404, -32601]);
    const missing = stateless('resources/read', { uri: 'service://nothing/here' });
    const { body: answer } = await post(missing.body, {
      ...missing.headers,
      'mcp-name': 'service://nothing/here',
    });
    expect(answer.error).toMatchObject({ code: -32602, data: { uri: 'service://nothing/here' } });
  });
});

describe('tools', () => {
  it('are the endpoints, each once, under the names that agents know', () => {
    const names = endpointTools.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, row } of endpointTools) {
      expect(name).toMatch(/^[a-z_]{3,50}$/);
      expect([name, row.issues_secret === undefined || row.id === 'agents.create']).toEqual([name, true]);
    }
    for (const { name, input } of toolTable) {
      const tool = endpointTools.find((each) => each.name === name);
      expect([name, Object.keys(tool?.input.properties ?? {})]).toEqual([
        name,
        expect.arrayContaining(Object.keys(input.properties)),
      ]);
    }
  });

  it('are shown to those who may call them, and refused to others by the endpoint’s own rule', async () => {
    const namesFor = async (who: Who) =>
      (await ask('tools/list', {}, who)).result!.tools.map(({ name }) => name);
    const [agent, viewer, admin] = await Promise.all([
      namesFor('agent'),
      namesFor('board_viewer'),
      namesFor('board_admin'),
    ]);
    expect(agent).toEqual(expect.arrayContaining(['get_me', 'create_issue']));
    expect(agent).not.toContain('approve_approval');
    expect(agent).not.toContain('update_budget_policy');
    expect(viewer).toContain('list_issues');
    expect(viewer.filter((name) => name.startsWith('create_'))).toEqual([]);
    expect(admin).toEqual(expect.arrayContaining(['approve_approval', 'update_budget_policy']));
    expect(admin).not.toContain('get_me');
    expect([...agent, ...admin].filter((name) => /secret|_keys?$/.test(name))).toEqual([]);
    const refusal = async (name: string, args: object, who: Who) =>
      JSON.parse((await call(name, args, who)).content[0]!.text).error;
    expect(await refusal('create_issue', { title: 'x' }, 'board_viewer')).toBe('member role required');
    expect(await refusal('approve_approval', { approval: stage.approvalId }, 'agent')).toBe('not for agents');
    expect(await refusal('get_me', {}, 'board_admin')).toBe('there is no tool "get_me"');
    for (const name of ['__proto__', 'constructor', 'toString', 'mcp.call', 'identity.me'])
      expect(await call(name)).toMatchObject({ isError: true });
  });

  it('name things by id or by what people call them, and check their input', async () => {
    const issue = await call('create_issue', { title: 'By name', priority: 'high' });
    const { identifier, id } = issue.structuredContent;
    expect((await call('get_issue', { issue: identifier })).structuredContent.id).toBe(id);
    await call('create_comment', { issue: identifier, body_markdown: 'Done so far' });
    expect((await call('list_comments', { issue: id })).structuredContent.items).toMatchObject([
      { body_markdown: 'Done so far', author_agent_id: cast.agent_id },
    ]);
    expect((await call('delete_issue', { issue: identifier })).structuredContent).toEqual({ done: true });
    for (const [name, args, error] of [
      ['create_issue', {}, "body must have required property 'title'"],
      ['create_issue', { title: 'x', colour: 'red' }, 'unknown argument: colour'],
      ['create_issue', { title: 'x', priority: 'loud' }, 'body.priority must be equal to one of'],
      ['get_issue', {}, 'argument issue must be a string'],
      ['get_issue', { issue: 'ABC-99999' }, 'there is no issue "ABC-99999"'],
      ['get_issue', { issue: cast.other_agent_id }, 'not found'],
      ['list_issues', { limit: 0 }, 'query.limit must be >= 1'],
    ] as const) {
      const answer = await call(name, args);
      expect([name, answer.isError, JSON.parse(answer.content[0]!.text).error]).toEqual([
        name,
        true,
        expect.stringContaining(error),
      ]);
    }
  });

  it('that read answer as their output schemas say, whoever asks', async () => {
    const client = await client1('board_admin');
    await client.listTools();
    const words: Record<string, string | undefined> = { ...stage, issue: stage.issueId };
    for (const { name, row, path } of endpointTools) {
      if (row.method !== 'GET' || !row.auth.includes('board_user')) continue;
      const args = Object.fromEntries(path.map(({ param, argument }) => [argument, words[param]]));
      const answer = await client.callTool({ name, arguments: args });
      expect([name, answer.isError, answer.content]).toEqual([name, undefined, expect.anything()]);
    }
    await client.close();
  });

  it('are done once where the request is repeated with its key', async () => {
    const send = async () =>
      (
        await post(rpc('tools/call', { name: 'create_label', arguments: { name: 'Once' } }), {
          'idempotency-key': 'label-once',
        })
      ).body.result!;
    const first = await send();
    expect((await send()).structuredContent).toEqual(first.structuredContent);
    expect(first.isError).toBeUndefined();
  });
});

describe('resources and prompts', () => {
  it('are listed in pages to the end, each once, and all can be read', async () => {
    const uris: string[] = [];
    let cursor: string | undefined;
    do {
      const { result } = await ask('resources/list', cursor === undefined ? {} : { cursor });
      uris.push(...result!.resources.map(({ uri }) => uri));
      cursor = result!.nextCursor;
    } while (cursor !== undefined);
    expect(new Set(uris).size).toBe(uris.length);
    expect(new Set(uris.map((uri) => uri.split('/')[2]))).toEqual(
      new Set(['agents', 'skills', 'notes', 'issues']),
    );
    for (const uri of uris) expect((await ask('resources/read', { uri })).error).toBeUndefined();
    const issue = (await ask('resources/read', { uri: `service://issues/${stage.issueId}` })).result!;
    const { documents } = JSON.parse(issue.contents[0]!.text) as { documents: { uri: string }[] };
    const document = (await ask('resources/read', { uri: documents[0]!.uri })).result!;
    expect(document.contents[0]).toMatchObject({ mimeType: 'text/markdown', text: '# Staged\n\nStaged' });
  });

  it('are the texts of an issue’s files too, in pieces by a tool, with where the bytes are', async () => {
    const issue = (await ask('resources/read', { uri: `service://issues/${stage.issueId}` })).result!;
    const { attachments } = JSON.parse(issue.contents[0]!.text) as {
      attachments: { uri: string; filename: string; download: string }[];
    };
    const [file] = attachments;
    const id = file!.uri.split('/').at(-1)!;
    expect(file!.download).toMatch(new RegExp(`^http.*/api/attachments/${id}/download$`));
    const read = async () => (await ask('resources/read', { uri: file!.uri })).result!.contents[0]!.text;
    const keep = async (status: string, text: string | null) =>
      database.pool.query(
        `insert into attachment_texts (attachment_id, company_id, status, extracted_text) values ($1, $2, $3, $4)
         on conflict (attachment_id) do update set status = excluded.status, extracted_text = excluded.extracted_text`,
        [id, cast.company_id, status, text],
      );
    await keep('none', null);
    expect(JSON.parse(await read())).toMatchObject({ text_status: 'none', download: file!.download });
    await keep('done', `${'a'.repeat(100_000)}the rest`);
    expect(await read()).toHaveLength(100_000);
    const { result } = await ask('tools/call', {
      name: 'read_attachment',
      arguments: { attachment: id, offset: 100_000 },
    });
    expect(result!.structuredContent).toMatchObject({ text: 'the rest', text_length: 100_008 });
  });

  it('of other companies are not found, whatever they are called', async () => {
    for (const uri of [
      `service://attachments/${cast.other_company_id}`,
      `service://agents/${cast.other_agent_id}`,
      `service://issues/${cast.other_company_id}`,
      'service://issues/%00',
      'service://issues/%E0%A4%A',
      'service://constructor/x',
      'file:///etc/passwd',
    ]) {
      const { error } = await ask('resources/read', { uri });
      expect([uri, error?.code]).toEqual([uri, uri.includes('%00') ? -32602 : -32002]);
    }
    const { status, body } = await post(rpc('tools/list'), {}, 'foreign_agent');
    expect([status, body.error]).toEqual([404, 'not found']);
    expect((await ask('prompts/get', { name: 'skill:none' })).error?.code).toBe(-32602);
    expect((await ask('prompts/get', { name: 'role:engineer', arguments: { x: 'y' } })).error?.code).toBe(
      -32602,
    );
  });

  it('complete agents, skills and documents of an issue', async () => {
    const values = async (uri: string, name: string, value: string, known = {}) =>
      (
        await ask('completion/complete', {
          ref: { type: 'ref/resource', uri },
          argument: { name, value },
          context: { arguments: known },
        })
      ).result!.completion.values;
    expect(await values('service://agents/{agent}', 'agent', 'age')).toEqual([
      expect.stringMatching(/^Agent /),
    ]);
    const ofIssue = 'service://issues/{issue}/documents/{key}';
    expect(await values(ofIssue, 'key', 'st', { issue: stage.issueId })).toEqual(['staged']);
    expect(await values(ofIssue, 'key', '', { issue: 'ABC-999' })).toEqual([]);
    expect((await ask('completion/complete', { ref: {}, argument: {} })).error?.code).toBe(-32602);
  });
});

it('a company’s agent asks with the feature switched off: not found', async () => {
  await setFlag('mcp', false);
  await instance.refresh();
  expect((await post(rpc('ping'))).status).toBe(404);
  await setFlag('mcp', true);
  await instance.refresh();
  expect((await post(rpc('ping'))).status).toBe(200);
});

it('anybody sends anything: no 5xx, an answer always, and what is an error says so', async () => {
  const names = [...endpointTools.map(({ name }) => name), '__proto__', 'a:b', 'a__b'];
  // Tools that change a lot or wait for a scheduler are not part of this test.
  const calm = names.filter((name) => !/^(test|delete|invoke|trigger|refresh)_/.test(name));
  const word = fc.oneof(
    fc.constantFrom(...Object.values(stage), cast.other_agent_id, cast.other_company_id),
    fc.string({ unit: character, maxLength: 20 }),
  );
  const args = fc.dictionary(
    fc.constantFrom('issue', 'agent', 'peer', 'chat', 'path', 'title', 'limit', 'cursor', 'key', '__proto__'),
    fc.oneof(word, fc.jsonValue()),
    { maxKeys: 4 },
  );
  const message = fc.oneof(
    fc.record({ name: fc.constantFrom(...calm), arguments: args }).map((params) => rpc('tools/call', params)),
    fc
      .tuple(
        fc.constantFrom(
          'resources/read',
          'resources/list',
          'prompts/get',
          'prompts/list',
          'completion/complete',
        ),
        fc.dictionary(
          fc.constantFrom('uri', 'name', 'cursor', 'ref', 'argument', 'arguments', '_meta'),
          fc.oneof(word, fc.jsonValue()),
        ),
      )
      .map(([method, params]) => rpc(method, params)),
    fc.jsonValue(),
  );
  const caller = fc.constantFrom<Who>('agent', 'board_admin', 'foreign_agent');
  await fc.assert(
    fc.asyncProperty(message, caller, async (sent, who) => {
      const { status, body } = await post(sent, {}, who);
      expect([200, 202, 400, 404]).toContain(status);
      const says = Number.isInteger(body.error?.code) || isDeepStrictEqual(body, { error: 'not found' });
      expect([status, status < 400 || says]).toEqual([status, true]);
      expect(who === 'foreign_agent' ? body.result : undefined).toBeUndefined();
    }),
    { numRuns: 150 },
  );
});
