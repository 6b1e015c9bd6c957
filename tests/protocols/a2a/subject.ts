/** The system under test of the agent-to-agent kits: both tiers, and an agent that follows the kits' scenarios. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  cloneDatabase,
  type FakeModelReply,
  freePort,
  startFakeModel,
  startService,
  type TestDatabase,
} from '@acp/testkit';
import { baseEnv, createTeam, modelEnv, signIn } from '../../process/api.ts';

export interface Subject {
  /** The kits expect the card at the root of a host, and know no keys: this proxy provides both. */
  url: string;
  /** A proxy without a key, for tests of that case. */
  keyless_url: string;
  stop(): Promise<void>;
}

/** @param version card version given to the kit @param wait_sec how long a send waits: kits for 0.3 check tasks in progress */
export async function startSubject(version: '0.3' | '1.0', wait_sec: number): Promise<Subject> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const db = await cloneDatabase(`kit_${version.replace('.', '_')}`);
  let act: ScriptedAgent | undefined;
  const model = await startFakeModel({ script: async ({ messages }) => act!.answer(messages) });
  const env = {
    ...baseEnv,
    ...modelEnv(model.url),
    DATABASE_URL: db.url,
    SERVICE_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    SERVICE_PUBLIC_URL: url,
    SERVICE_A2A_PUSH_ALLOWED_HOSTS: 'localhost,127.0.0.1',
    SERVICE_A2A_WAIT_SEC: String(wait_sec),
    WORKER_POOL_SIZE: '50',
  };
  const web = await startService({ ...env, SERVICE_ROLE: 'web' });
  await startService({ ...env, SERVICE_ROLE: 'scheduler' });
  const api = await signIn(web);
  const { company_id, agents } = await createTeam(api, ['Ada'], {
    externally_available: true,
    max_concurrent_runs: 50,
  });
  const { raw_key } = await api.call<{ raw_key: string }>(
    'POST',
    `/api/companies/${company_id}/agent-api-keys`,
    {
      agent_id: agents[0]!.id,
    },
  );
  act = new ScriptedAgent(db, web.url, raw_key, version);
  const behind = { agent: `/companies/${company_id}/agents/${agents[0]!.id}`, version };
  const proxy = startProxy(web.url, { ...behind, key: raw_key }).listen(port, '127.0.0.1');
  const keyless = startProxy(web.url, { ...behind, key: null }).listen(0, '127.0.0.1');
  await Promise.all([once(proxy, 'listening'), once(keyless, 'listening')]);
  return {
    url,
    keyless_url: `http://127.0.0.1:${(keyless.address() as AddressInfo).port}`,
    async stop() {
      for (const server of [proxy, keyless]) {
        server.closeAllConnections();
        server.close();
      }
      await model.close();
    },
  };
}

interface Behind {
  agent: string;
  version: string;
  key: string | null;
}

function startProxy(to: string, { agent, version, key }: Behind): Server {
  let sent = 0;
  return createServer((asked, answer) => {
    const isCard = asked.url?.endsWith('/.well-known/agent-card.json') ?? false;
    // The kit for 0.3 takes the root for the endpoint, the one for 1.0 takes the endpoint's URL for a folder.
    const path = isCard
      ? `${agent}/agent-card.json`
      : asked.url === '/'
        ? `${agent}/a2a`
        : asked.url?.replace(/\/$/, '');
    const { 'content-length': _length, ...headers } = asked.headers;
    // Kits fetch the card without a version and validate it against their own schema.
    if (isCard) headers['a2a-version'] = version;
    else if (key !== null) headers.authorization ??= `Bearer ${key}`;
    const passed = request(`${to}${path}`, { method: asked.method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    void text(asked).then((body) => passed.end(withOwnIds(body, () => (sent += 1))));
  });
}

/** The kit for 1.0 reuses one message id, although the protocol requires unique ones: this makes each unique. */
const withOwnIds = (body: string, next: () => number): string =>
  body.replace(/("messageId": ?"tck-[^"]*)/g, (id) => `${id}-${next()}`);

/** The model behind the agent: the id of the client's latest message says what to do, by the kits' convention. */
class ScriptedAgent {
  readonly #db: TestDatabase;
  readonly #url: string;
  readonly #key: string;
  readonly #version: string;

  constructor(db: TestDatabase, url: string, key: string, version: string) {
    this.#db = db;
    this.#url = url;
    this.#key = key;
    this.#version = version;
  }

  async answer(messages: readonly { content: string }[]): Promise<FakeModelReply | string> {
    const prompt = messages.map(({ content }) => content).join('\n');
    const identifier = /# Your issue\s+(\S+): /.exec(prompt)?.[1];
    const { rows } = await this.#db.database.pool.query<{ message_id: string; issue_id: string }>(
      `select m.message_id, m.issue_id from a2a_messages m join issues i on i.id = m.issue_id
       where i.identifier = $1 order by m.created_at desc, m.id desc limit 1`,
      [identifier],
    );
    const { message_id, issue_id } = rows[0]!;
    // The older kit cancels, resubscribes to and continues tasks, so they stay in progress for a while.
    if (this.#version === '0.3') return { text: 'Done.\n/status done', delay_ms: 3500 };
    return this.#play(message_id, issue_id);
  }

  async #play(message_id: string, issue_id: string): Promise<FakeModelReply | string> {
    const is = (name: string) => message_id.startsWith(`tck-${name}-`);
    if (is('input-required')) return '/await-input What else?';
    if (is('artifact-text')) return '/report Text\n```\nGenerated text content\n```\n/status done';
    if (is('artifact-file') && !is('artifact-file-url')) await this.#attach(issue_id);
    const named = { title: 'output.txt', metadata: { media_type: 'text/plain' } };
    if (is('artifact-file-url'))
      await this.#add(issue_id, { ...named, type: 'file', url: 'https://example.com/output.txt' });
    if (is('artifact-data'))
      await this.#add(issue_id, { title: 'Data', metadata: { key: 'value', count: 42 } });
    if (is('stream-001') || is('stream-003') || is('stream-ordering-001'))
      return '/report Stream\n```\nStream hello from TCK\n```\n/status done';
    return 'Hello from TCK\n/status done';
  }

  /** Uses the agent's own key, as a program that it ran would. */
  async #add(issue_id: string, product: object): Promise<void> {
    await this.#post(`/api/issues/${issue_id}/work-products`, JSON.stringify(product), 'application/json');
  }

  async #attach(issue_id: string): Promise<void> {
    const form = new FormData();
    form.set('file', new Blob(['Generated file'], { type: 'text/plain' }), 'output.txt');
    await this.#post(`/api/issues/${issue_id}/attachments`, form);
  }

  async #post(path: string, body: string | FormData, type?: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.#key}`, ...(type && { 'content-type': type }) };
    const response = await fetch(this.#url + path, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  }
}
