import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '@acp/testkit';
import { build } from '../../scripts/plugin/build.ts';
import { DrivenPlugin } from '../../scripts/plugin/check/driven.ts';
import { FakeServices, Refusal } from '../../scripts/plugin/check/services.ts';

const example = resolve(import.meta.dirname, '../../examples/plugins/github');
const SECRETS = { GITHUB_TOKEN: 'token-of-github', GITHUB_WEBHOOK_SECRET: 'shared-secret' };
const COMPANY = '00000000-0000-4000-8000-000000000002';

interface Fetch {
  url: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** A company with one issue, ABC-12, and a GitHub that answers by path. */
class World extends FakeServices {
  readonly comments: string[] = [];
  readonly fetched: Fetch[] = [];
  pages: Record<string, unknown> = {};

  constructor() {
    super({ grants: ['kv', 'issues.comment'], secrets: SECRETS, network: false });
  }

  override async answer(service: string, args: never): Promise<unknown> {
    if (service === 'issues.comment') {
      const { issue, body_markdown } = args as { issue: string; body_markdown: string };
      if (issue !== 'ABC-12') throw new Refusal('not_found', 'not found');
      this.comments.push(body_markdown);
      return { comment_id: COMPANY };
    }
    if (service !== 'http_fetch') return super.answer(service, args);
    const fetch: Fetch = args;
    this.fetched.push(fetch);
    const path = fetch.url.replace('https://api.github.com', '').split('?')[0]!;
    const found = this.pages[path];
    const body = JSON.stringify(found ?? { message: 'Not Found' });
    return { status: found ? 200 : 404, headers: {}, body, body_encoding: 'utf8', truncated: false };
  }
}

let binary: string;
let world: World;
let plugin: DrivenPlugin;
let workspace: string;
let calls = 0;

beforeAll(async () => {
  binary = await build(example, join(await mkdtemp(join(tmpdir(), 'github-')), 'github'));
});

beforeEach(async () => {
  world = new World();
  workspace = await mkdtemp(join(tmpdir(), 'workspace-'));
  plugin = new DrivenPlugin(binary, { services: world, workspace, plugin_id: COMPANY, company_id: COMPANY });
  const config = { repositories: ['Octo/Hello'], announce: true };
  const ids = { plugin_id: COMPANY, company_id: COMPANY, host_capabilities: world.capabilities };
  const ready = plugin.next('ready', 20_000);
  plugin.send({ type: 'init', payload: { ...ids, config, protocol_version: 1 } });
  await ready;
});

afterEach(async () => {
  const offences = [...plugin.offences];
  plugin.kill();
  await rm(workspace, { recursive: true, force: true });
  if (offences.length > 0) throw new Error(offences.join('\n'));
});

async function call(tool: string, input: unknown) {
  calls += 1;
  const request_id = `c${calls}`;
  const answer = plugin.next('tool_result', 20_000, (payload) => payload.request_id === request_id);
  plugin.send({ type: 'invoke_tool', payload: { tool, namespace: 'github', input, request_id } });
  return answer;
}

function deliver(payload: object, secret = SECRETS.GITHUB_WEBHOOK_SECRET, event = 'pull_request') {
  const body = JSON.stringify(payload);
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const headers = { 'x-github-event': event, 'x-hub-signature-256': `sha256=${signature}` };
  plugin.send({ type: 'deliver_webhook', payload: { path: 'github', headers, body, body_encoding: 'utf8' } });
}

const pull = {
  number: 5,
  title: 'Mend @Ada`s login, see ABC-12 and UTF-8',
  body: null,
  state: 'open',
  html_url: 'https://github.com/octo/hello/pull/5',
  updated_at: '2026-01-01T00:00:00Z',
  user: { login: 'grace' },
  head: { ref: 'abc-12-login' },
};
const repository = { full_name: 'octo/hello' };

async function items(): Promise<unknown[]> {
  const { result } = await call('list', { repository: 'octo/hello' });
  return (result as { items: unknown[] }).items;
}

it('a signed webhook is mirrored and told once to the issue that it mentions; an unsigned one is ignored', async () => {
  deliver({ action: 'opened', pull_request: pull, repository }, 'another secret');
  await waitFor(() => plugin.unasked.some(({ type }) => type === 'log'));
  expect(await items()).toEqual([]);
  deliver({ action: 'opened', pull_request: pull, repository });
  await waitFor(() => world.comments.length > 0);
  deliver({ action: 'opened', pull_request: pull, repository });
  const merged = { ...pull, state: 'closed', merged_at: 'x', updated_at: '2026-01-02T00:00:00Z' };
  deliver({ action: 'closed', pull_request: merged, repository });
  await waitFor(() => world.comments.length === 2);
  // A late webhook changes nothing any more.
  deliver({ action: 'opened', pull_request: pull, repository });
  const [told, ended] = world.comments;
  expect(told).toBe(
    'Pull request [octo/hello#5](https://github.com/octo/hello/pull/5) `Mend @Ada s login, see ABC-12 and UTF-8` by `grace` is open at GitHub.',
  );
  expect(ended).toContain('was merged at GitHub');
  expect(await items()).toMatchObject([
    { number: 5, state: 'merged', kind: 'pull_request', author: 'grace' },
  ]);
  expect(world.comments).toHaveLength(2);
  const elsewhere = { full_name: 'octo/other' };
  deliver({ action: 'opened', pull_request: { ...pull, title: 'ABC-12' }, repository: elsewhere });
  await waitFor(() => plugin.unasked.filter(({ type }) => type === 'log').length > 1);
  expect(world.comments).toHaveLength(2);
});

it('agents read and comment with the token, in the listed repositories only', async () => {
  world.pages = {
    '/repos/octo/hello/issues/7': { ...pull, number: 7, head: undefined, body: 'the text' },
    '/repos/octo/hello/issues/7/comments': [
      { body: 'first', created_at: 'then', html_url: 'https://github.com/c', user: null },
    ],
  };
  const read = await call('read', { repository: 'octo/hello', number: 7 });
  expect(read.result).toMatchObject({
    number: 7,
    kind: 'issue',
    body: 'the text',
    comments: [{ body: 'first', author: 'ghost' }],
  });
  expect(world.fetched[0]?.headers?.authorization).toBe('Bearer token-of-github');
  await call('comment', { repository: 'octo/hello', number: 7, body: 'hello' });
  expect(world.fetched.at(-1)).toMatchObject({ method: 'POST', body: '{"body":"hello"}' });
  expect((await call('read', { repository: 'octo/hello', number: 8 })).error).toMatchObject({
    message: 'GitHub answered 404: Not Found',
  });
  const before = world.fetched.length;
  expect((await call('read', { repository: 'octo/../x', number: 7 })).error).toMatchObject({
    message: 'octo/../x is not among the repositories of this plugin',
  });
  expect(world.fetched).toHaveLength(before);
});

it('the job makes up for lost webhooks, and the end of an issue is told at GitHub once', async () => {
  world.pages = {
    '/repos/octo/hello/issues': [{ ...pull, head: undefined, pull_request: {} }],
    '/repos/octo/hello/issues/5/comments': { html_url: 'https://github.com/c' },
  };
  for (let time = 0; time < 2; time += 1) {
    const done = plugin.next('job_result', 20_000);
    plugin.send({
      type: 'run_job',
      payload: { job_name: 'resync', scheduled_at: '2026-01-01T00:00:00Z', config: null },
    });
    expect(await done).toMatchObject({ result: { 'octo/hello': 1 }, error: null });
  }
  expect(world.comments).toHaveLength(1);
  expect(new URL(world.fetched[1]!.url).searchParams.get('since')).toBe(pull.updated_at);
  for (const status of ['in_progress', 'done', 'done']) {
    const handled = plugin.next('event_handled', 20_000);
    const data = { id: COMPANY, identifier: 'ABC-12', status };
    plugin.send({
      type: 'trigger_event',
      payload: { event_type: 'issue.updated', data, event_id: null, occurred_at: null },
    });
    await handled;
  }
  const posts = world.fetched.filter(({ method }) => method === 'POST');
  expect(posts.map(({ body }) => body)).toEqual(['{"body":"`ABC-12` is done."}']);
});
