/**
 * Everything of an instance on one machine dies at once, its database included, and comes back: what was acknowledged is there
 * once, nobody waits, and nothing is left behind.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Client } from 'pg';
import type { ChatMessage, Comment, Issue } from '@acp/contract';
import { newId } from '@acp/kernel';
import {
  type FakeModel,
  freePort,
  killServices,
  processesIn,
  readPrompt,
  type ServiceProcess,
  signalProcessesIn,
  spawnWorker,
  startFakeModel,
  startService,
  waitFor,
} from '@acp/testkit';
import { type Api, baseEnv, createTeam, modelEnv, shortLeases, signIn } from './api.ts';

let folder: string;
let model: FakeModel;
let env: Record<string, string>;
let up: ServiceProcess[] = [];

/** Two processes of each tier, on the embedded server, and a remote worker. */
async function startAll(worker_key?: string): Promise<void> {
  const web = async () => startService({ ...env, SERVICE_ROLE: 'web' });
  const scheduler = async () => startService({ ...env, PORT: '0', SERVICE_ROLE: 'scheduler' });
  up = await Promise.all([web(), scheduler(), scheduler()]);
  if (worker_key !== undefined)
    up.push(
      spawnWorker({
        ...modelEnv(model.url),
        SERVICE_SERVER_URL: up[0]!.url,
        SERVICE_WORKER_KEY: worker_key,
        SERVICE_WORKER_NAME: 'far',
        SERVICE_WORKER_POLL_SEC: '0.2',
        SERVICE_HOME: path.join(folder, 'worker'),
      }),
    );
}

async function cutPower(): Promise<void> {
  signalProcessesIn(folder, 'SIGKILL');
  await Promise.all(up.map(async ({ ended }) => ended));
}

async function query<T>(text: string): Promise<T[]> {
  const file = path.join(folder, 'home/postgres/connection.json');
  const { superuser, password, port } = JSON.parse(await readFile(file, 'utf8'));
  const at = { host: '127.0.0.1', user: superuser, database: 'service' };
  const client = new Client({ ...at, password, port });
  await client.connect();
  try {
    return (await client.query(text)).rows as T[];
  } finally {
    await client.end();
  }
}

beforeAll(async () => {
  folder = await mkdtemp('/var/tmp/power-cut-');
  model = await startFakeModel();
  env = {
    ...baseEnv,
    ...shortLeases,
    ...modelEnv(model.url),
    PORT: String(await freePort()),
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_BACKUP_SCHEDULE: 'off',
  };
});
afterAll(async () => {
  await killServices();
  signalProcessesIn(folder, 'SIGKILL');
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

/** Sends work until told to stop, each piece under one key until it is acknowledged. */
function workOn(api: Api, url: string, agents: readonly string[], company_id: string) {
  const acknowledged = {
    issues: new Map<string, string>(),
    comments: new Map<string, string>(),
    files: new Map<string, string>(),
  };
  const over = new AbortController();
  const send = async (where: string, body: object | FormData): Promise<{ id: string } | undefined> => {
    const isForm = body instanceof FormData;
    const headers = { cookie: api.cookie, 'idempotency-key': newId() };
    const sent = isForm
      ? { headers: { cookie: api.cookie }, body }
      : {
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        };
    return waitFor(
      async () => {
        const response = await fetch(`${url}${where}`, { method: 'POST', ...sent }).catch(() => undefined);
        if (response?.ok) return (await response.json()) as { id: string };
        // A file has no key: one that was not acknowledged may be there or not.
        return isForm && 'none';
      },
      { timeout_ms: 120_000 },
    ).then((answer) => (answer === 'none' ? undefined : answer));
  };
  const client = async (own: number): Promise<void> => {
    for (let n = 0; !over.signal.aborted; n += 1) {
      const name = `W${own}x${n}`;
      const assignee_agent_id = agents[n % agents.length];
      const issue = await send(`/api/companies/${company_id}/issues`, { title: name, assignee_agent_id });
      acknowledged.issues.set(name, issue!.id);
      const comment = await send(`/api/issues/${issue!.id}/comments`, { body_markdown: `${name} said` });
      acknowledged.comments.set(`${name} said`, comment!.id);
      const bytes = randomBytes(500_000);
      const form = new FormData();
      form.append('file', new Blob([bytes]), 'some.bin');
      const file = await send(`/api/issues/${issue!.id}/attachments`, form);
      if (file !== undefined)
        acknowledged.files.set(file.id, createHash('sha256').update(bytes).digest('hex'));
      await nextTurn();
    }
  };
  const clients = Promise.all([1, 2, 3].map(client));
  return {
    acknowledged,
    async stop() {
      over.abort();
      await clients;
    },
  };
}

const LIVE = `
  select 'run' as what, id::text from heartbeat_runs where status in ('queued', 'running')
  union all select 'checkout', identifier from issues where checked_out_by_agent_id is not null
  union all select 'wakeup', id::text from wakeup_requests where status = 'pending'
  union all select 'task', id::text from remote_tasks where status in ('queued', 'claimed', 'cancel_requested')
  union all select 'reservation', run_id::text from budget_reservations
  union all select 'chat', id::text from chat_messages where status in ('waiting', 'answering')
  union all select 'event', id::text from outbox`;

it('what was acknowledged is there once; nobody waits; no process, client, file or row is left', async () => {
  await startAll();
  const { url } = up[0]!;
  const api = await signIn(up[0]!);
  model.setScript((request) => {
    if (request.messages.at(-1)!.content.includes('Who?')) return 'Ada.';
    const { issue } = readPrompt(request);
    if (issue === null) return 'Nothing to do.';
    const text = `Done ${request.n}.\n/create-issue Child ${request.n}\n/status done`;
    return { text, delay_ms: 200, chunk_delay_ms: 20 };
  });
  const near = await createTeam(api, ['Ada', 'Bob']);
  const base = `/api/companies/${near.company_id}`;
  const far = await api.call<{ id: string }>('POST', `${base}/agents`, {
    name: 'Rem',
    role: 'engineer',
    adapter_type: 'remote',
    adapter_config: { timeout_seconds: 60 },
  });
  const worker = await api.call<{ api_key: string }>('POST', '/api/admin/workers', { name: 'far' });
  const chat = await api.call<{ id: string }>('POST', `${base}/chats`, { agent_id: near.agents[0]!.id });
  await cutPower();
  await startAll(worker.api_key);
  const agents = [...near.agents.map(({ id }) => id), far.id];
  const work = workOn(api, url, agents, near.company_id);
  await waitFor(() => work.acknowledged.files.size > 2);
  const asked = await api.call<ChatMessage>('POST', `/api/chats/${chat.id}/messages`, {
    body_markdown: 'Who?',
  });
  for (const before of [5, 10]) {
    await waitFor(() => work.acknowledged.issues.size > before, { timeout_ms: 120_000 });
    await cutPower();
    await startAll(worker.api_key);
  }
  await work.stop();
  await waitFor(async () => (await query(LIVE)).length === 0, { timeout_ms: 120_000 });

  const { issues, comments, files } = work.acknowledged;
  const all = await query<Pick<Issue, 'id' | 'title'>>('select id, title from issues');
  for (const [title, id] of issues)
    expect(all.filter((issue) => issue.title === title)).toEqual([{ id, title }]);
  const said = await query<Pick<Comment, 'id' | 'body_markdown'>>('select id, body_markdown from comments');
  for (const [text, id] of comments)
    expect(said.filter(({ body_markdown }) => body_markdown === text)).toMatchObject([{ id }]);
  const children = all.filter(({ title }) => title.startsWith('Child')).map(({ title }) => title);
  expect(new Set(children).size).toBe(children.length);
  for (const [id, hash] of files) {
    const response = await fetch(`${url}/api/attachments/${id}/download`, {
      headers: { cookie: api.cookie },
    });
    expect(
      createHash('sha256')
        .update(await response.bytes())
        .digest('hex'),
    ).toBe(hash);
  }
  const messages = await api.call<ChatMessage[]>('GET', `/api/chats/${chat.id}/messages`);
  expect(messages.find(({ id }) => id === asked.id)).toMatchObject({ status: 'answered' });

  const keys = await query<{ storage_key: string }>('select storage_key from attachments');
  const orphans = await query<{ storage_key: string }>('select storage_key from storage_orphans');
  const objects = path.join(folder, 'home/storage/objects');
  for (const { storage_key } of keys) expect(existsSync(path.join(objects, storage_key))).toBe(true);
  const recorded = new Set([...keys, ...orphans].map(({ storage_key }) => storage_key));
  const found = (await readdir(objects, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.relative(objects, path.join(parentPath, name)));
  expect(found.filter((key) => !recorded.has(key))).toEqual([]);

  const ends = await Promise.all(up.toReversed().map(async (each) => each.stop()));
  expect(ends.map(({ code }) => code)).toEqual(up.map(() => 0));
  expect(processesIn(folder)).toEqual([]);
  expect(await readdir(path.join(folder, 'home/postgres/clients'))).toEqual([]);
  expect(await readdir(path.join(folder, 'worker'), { recursive: true })).not.toContainEqual(
    expect.stringMatching(/\.(?:json|new)$/),
  );
});
