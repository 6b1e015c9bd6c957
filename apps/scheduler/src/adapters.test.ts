import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { markedProcesses } from '@acp/adapters';
import {
  cancelRun,
  createChat,
  findAgent,
  findChat,
  findRun,
  clearSessions,
  invokeAgent,
  listRunEvents,
  postChatMessage,
  resolveBearer,
  runtimeState,
} from '@acp/core';
import type { AdapterType } from '@acp/contract';
import type { RunRow } from '@acp/core';
import { createListener, type Listener, schema, transaction } from '@acp/db';
import { loadConfig, sha256Hex } from '@acp/kernel';
import { callCommand } from '@acp/queue';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  createMembership,
  createUser,
  fakeCliCommand,
  fakeCliJournal,
  testLogger,
  waitFor,
} from '@acp/testkit';
import type { FakeCliCall, TestDatabase } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { startScheduler } from './main.ts';
import type { RunningScheduler } from './main.ts';

const OPERATOR_SECRET = 'operators-own-model-key-1234';
const finalStatuses = ['succeeded', 'failed', 'cancelled'];

let db: TestDatabase;
let folder: string;
let listener: Listener;
const running: RunningScheduler[] = [];

beforeAll(async () => {
  db = await cloneDatabase('adapters');
  void db.notifier;
  folder = await mkdtemp('/var/tmp/adapters-test-');
  listener = createListener({ url: db.url, logger: testLogger() });
  process.env.TEST_MODEL_API_KEY = OPERATOR_SECRET;
});

afterEach(async () => {
  await Promise.all(running.splice(0).map(async (scheduler) => scheduler.stop()));
});

afterAll(async () => {
  delete process.env.TEST_MODEL_API_KEY;
  await listener.close();
  await rm(folder, { recursive: true, force: true });
});

let scripts = 0;
const quoted = (command: string[]) => command.map((word) => `"${word}"`).join(' ');

/** Starts a scheduler whose two CLIs both follow the script. */
async function start(calls: FakeCliCall[], env: Record<string, string> = {}): Promise<RunningScheduler> {
  const script = path.join(folder, `script-${(scripts += 1)}.json`);
  await writeFile(script, JSON.stringify({ calls }));
  const config = loadConfig({
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_PUBLIC_URL: 'http://service.example',
    SERVICE_CLI_A_COMMAND: quoted(fakeCliCommand('a', script)),
    SERVICE_CLI_B_COMMAND: quoted(fakeCliCommand('b', script)),
    SERVICE_CLI_ENV_PASSTHROUGH: 'TEST_MODEL_API_KEY,NOT_SET',
    SERVICE_LOCAL_CLI: 'host',
    SERVICE_DRAIN_TIMEOUT_SEC: '0',
    ...env,
  });
  const scheduler = await startScheduler({ config, logger: testLogger() });
  running.push(scheduler);
  return scheduler;
}

async function scene(values: Parameters<typeof createAgent>[2] = {}) {
  const tx = db.database.db;
  const company = await createCompany(tx);
  const user = await createUser(tx);
  await createMembership(tx, company, user, 'admin');
  const human = actors.user(user, { [company.id]: 'admin' });
  const agent = await createAgent(tx, company, { name: 'Ada', adapter_type: 'cli_a_local', ...values });
  const issue = await createIssue(tx, company, { assignee_agent_id: agent.id, title: 'Paint the shed' });
  const home = path.join(folder, 'home', 'companies', company.id, 'agents', agent.id);
  return { company, human, agent, issue, home };
}
type Scene = Awaited<ReturnType<typeof scene>>;

const invoke = async ({ human, agent }: Scene) =>
  transaction(db.database, async (tx) => invokeAgent(tx, human, agent));
const read = async (id: string) => (await findRun(db.database.db, id))!;
const ended = async (id: string): Promise<RunRow> =>
  waitFor(
    async () => {
      const run = await read(id);
      return finalStatuses.includes(run.status) ? run : false;
    },
    { what: 'the end of the run' },
  );
const complete = async (set: Scene) => ended((await invoke(set)).id);

async function transcriptOf(run: { id: string }) {
  return listRunEvents(db.database.db, { kind: 'system', name: 'tests' }, run.id, { limit: 1000 });
}
const commentsOf = async ({ issue }: Scene) =>
  db.database.db.select().from(schema.comments).where(eq(schema.comments.issue_id, issue.id));
const stateOf = async ({ agent }: Scene) =>
  runtimeState(db.database.db, (await findAgent(db.database.db, agent.id))!);
const keysOf = async ({ agent }: Scene) =>
  db.database.db.select().from(schema.agent_api_keys).where(eq(schema.agent_api_keys.agent_id, agent.id));
const marked = async (id: string) => (await markedProcesses()).filter(({ run_id }) => run_id === id);

const testAdapter = async (set: Scene, adapter_type?: AdapterType) =>
  callCommand(
    db.database,
    listener,
    'test-adapter',
    { agent_id: set.agent.id, adapter_type },
    { actor: null },
  );

const tasksOf = async ({ agent }: Scene) =>
  db.database.db.select().from(schema.remote_tasks).where(eq(schema.remote_tasks.agent_id, agent.id));

describe.each(['cli_a_local', 'cli_b_local'])('a run by %s', (adapter_type) => {
  it('applies the verbs of all its messages and posts the last one', async () => {
    await start([{ texts: ['Let me see.\n/priority high', 'The shed is red.\n/status done'] }]);
    const set = await scene({ adapter_type });
    const run = await complete(set);
    expect(run).toMatchObject({ status: 'succeeded', adapter_type, error: null });
    expect(run).toMatchObject({ input_tokens: 200, output_tokens: 20, usage_missing: false });
    expect((await commentsOf(set)).map(({ body_markdown }) => body_markdown)).toEqual(['The shed is red.']);
    const [issue] = await db.database.db
      .select()
      .from(schema.issues)
      .where(eq(schema.issues.id, set.issue.id));
    expect(issue).toMatchObject({ status: 'done', priority: 'high' });
    const kinds = (await transcriptOf(run)).map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['prompt', 'output', 'tool', 'action', 'status']));
  });

  it('is answered what its verbs read, in the same session, and its turns end', async () => {
    await start([{ texts: ['/list-issues'] }, { texts: ['/get-issue'] }, { texts: ['Seen.\n/status done'] }]);
    const set = await scene({ adapter_type });
    const run = await complete(set);
    expect(run).toMatchObject({ status: 'succeeded', input_tokens: 300, output_tokens: 30 });
    const [first, second, third] = await fakeCliJournal(set.home);
    expect(first?.stdin).toContain('Paint the shed');
    expect(second?.stdin).toMatch(/^Answers[^]*Answer to \/list-issues:[^]*Paint the shed/);
    expect(third?.stdin).toMatch(/Answer to \/get-issue/);
    expect(third?.stdin).not.toContain('/list-issues');
    expect(second?.args.join(' ')).toContain('resume');
    expect(third?.args).toEqual(second?.args);
    expect((await commentsOf(set)).map(({ body_markdown }) => body_markdown)).toEqual(['Seen.']);
  });

  it('that reports what no database holds ends all the same, with its text and a price', async () => {
    const usage = { input: -1, output: 1e21, cost_usd: -1e21 };
    await start([{ texts: ['The shed is red.\n/status done'], usage, session_id: 'a\0b' }]);
    const set = await scene({ adapter_type });
    const run = await complete(set);
    expect(run).toMatchObject({ status: 'succeeded', usage_missing: true, summary: 'The shed is red.' });
    expect(Number(run.cost_usd)).toBeGreaterThan(0);
    expect(await fakeCliJournal(set.home)).toHaveLength(1);
  });

  it('whose comment the database refuses ends with its price and that reason, not as lost', async () => {
    await db.database.pool.query(`
      create or replace function refuse() returns trigger language plpgsql as 'begin raise exception ''no such text''; end';
      create or replace trigger refuse before insert on comments for each row
        when (new.body_markdown like '%unheard-of%') execute function refuse()`);
    await start([{ texts: ['An unheard-of thing.'] }]);
    const run = await complete(await scene({ adapter_type }));
    expect(run).toMatchObject({
      status: 'failed',
      error_category: 'internal',
      summary: 'An unheard-of thing.',
    });
    expect(run.error).toBe('what the run came to could not be stored');
    expect(run.input_tokens).toBe(100);
  });

  it('gets the environment that decisions 9 lists, its name for commits, and a key that opens only while it runs', async () => {
    await start([{ hang: 'polite' }]);
    const set = await scene({ adapter_type });
    const { id } = await invoke(set);
    const call = await waitFor(async () => (await fakeCliJournal(set.home))[0], { what: 'the call' });
    const { env } = call;
    const mine = Object.keys(env).filter((name) => !['PATH', 'LANG', 'TERM'].includes(name));
    expect(mine.toSorted()).toEqual([
      'GIT_AUTHOR_EMAIL',
      'GIT_AUTHOR_NAME',
      'GIT_COMMITTER_EMAIL',
      'GIT_COMMITTER_NAME',
      'GIT_TERMINAL_PROMPT',
      'HOME',
      'SERVICE_AGENT_ID',
      'SERVICE_AGENT_NAME',
      'SERVICE_API_KEY',
      'SERVICE_BASE_URL',
      'SERVICE_ISSUE_ID',
      'SERVICE_ISSUE_IDENTIFIER',
      'SERVICE_RUN_ID',
      'TEST_MODEL_API_KEY',
    ]);
    expect(env).toMatchObject({
      HOME: set.home,
      SERVICE_RUN_ID: id,
      SERVICE_BASE_URL: 'http://service.example',
    });
    const hash = sha256Hex(env.SERVICE_API_KEY!);
    expect(await resolveBearer(db.database.db, hash)).toMatchObject({ agent_id: set.agent.id, run_id: id });
    await transaction(db.database, async (tx) => cancelRun(tx, set.human, { id }));
    expect(await ended(id)).toMatchObject({ status: 'cancelled' });
    expect(await resolveBearer(db.database.db, hash)).toBeUndefined();
    expect(await keysOf(set)).toEqual([]);
    expect(await marked(id)).toEqual([]);
  });

  it('goes on from its session, counting its own tokens only, until that is cleared', async () => {
    await start([{ usage: { input: 500, cost_usd: 0.125 } }]);
    const set = await scene({ adapter_type });
    await complete(set);
    const before = await stateOf(set);
    const workspaces = path.join(set.home, '..', '..', 'workspaces');
    expect(before.session_cwd).toBe(path.join(workspaces, set.issue.id, 'tree'));
    expect(await complete(set)).toMatchObject({ status: 'succeeded', input_tokens: 500 });
    expect((await stateOf(set)).session_id).toBe(before.session_id);
    await transaction(db.database, async (tx) =>
      clearSessions(tx, set.human, (await findAgent(tx, set.agent.id))!),
    );
    expect(await complete(set)).toMatchObject({ status: 'succeeded', input_tokens: 500 });
    expect((await stateOf(set)).session_id).not.toBe(before.session_id);
    const calls = await fakeCliJournal(set.home);
    expect(calls.map(({ args }) => args.some((arg) => arg.includes(before.session_id!)))).toEqual([
      false,
      true,
      false,
    ]);
    // All ran in the issue’s folder.
    expect(calls.map(({ cwd }) => cwd === before.session_cwd)).toEqual([true, true, true]);
  });

  it('cleared while it runs leaves no session behind', async () => {
    await start([{}, { hang: 'polite' }]);
    const set = await scene({ adapter_type });
    await complete(set);
    const { id } = await invoke(set);
    await waitFor(async () => (await fakeCliJournal(set.home)).length === 2);
    await transaction(db.database, async (tx) =>
      clearSessions(tx, set.human, (await findAgent(tx, set.agent.id))!),
    );
    await transaction(db.database, async (tx) => cancelRun(tx, set.human, { id }));
    await ended(id);
    expect(await stateOf(set)).toMatchObject({ session_id: null, session_cwd: null });
  });

  it('begins afresh where the session is lost', async () => {
    await start([{}]);
    const set = await scene({ adapter_type });
    await complete(set);
    const { session_id } = await stateOf(set);
    await rm(path.join(set.home, '.fake-sessions'), { recursive: true });
    expect(await complete(set)).toMatchObject({ status: 'succeeded' });
    const after = await stateOf(set);
    expect(after.session_id).not.toBeNull();
    expect(after.session_id).not.toBe(session_id);
  });

  it('keeps keys and the operator’s secrets out of its transcript and comment', async () => {
    const set = await scene({ adapter_type });
    await start([{ texts: [`The key is ${OPERATOR_SECRET}.`] }]);
    const run = await complete(set);
    const told = JSON.stringify([await transcriptOf(run), await commentsOf(set), run]);
    expect(told).not.toContain(OPERATOR_SECRET);
    expect(told).toContain('[redacted]');
  });

  it('of a home that leads elsewhere fails', async () => {
    await start([{}]);
    const run = await complete(await scene({ adapter_type, home_dir: '/var/tmp' }));
    expect(run).toMatchObject({ status: 'failed', error_category: 'config' });
    expect(run.error).toContain('home_dir');
  });

  it('that the scheduler stops leaves no process behind, and is tried again by another', async () => {
    const scheduler = await start([{ hang: 'stubborn', stray: true }]);
    const set = await scene({ adapter_type });
    const { id } = await invoke(set);
    await waitFor(async () => (await fakeCliJournal(set.home)).length > 0, { what: 'the call' });
    running.splice(running.indexOf(scheduler), 1);
    await scheduler.stop();
    expect(await marked(id)).toEqual([]);
    await start([{}]);
    expect(await ended(id)).toMatchObject({ status: 'failed', error_category: 'lost' });
    const retry = eq(schema.heartbeat_runs.retry_of_run_id, id);
    const [again] = await db.database.db.select().from(schema.heartbeat_runs).where(retry);
    expect(await ended(again!.id)).toMatchObject({ status: 'succeeded' });
  });
});

describe('a reply in a private chat by a CLI', () => {
  it('has a home of its own with the agent’s files, and leaves nothing that a later run could read', async () => {
    const sh = 'echo "my salary" > "$HOME/said"; echo for all > "$HOME/files/shared.txt"';
    await start([{ sh, texts: ['Noted.'] }]);
    const set = await scene();
    const { db: tx } = db.database;
    const id = await transaction(db.database, async (t) => {
      const chat = await createChat(t, set.human, set.company.id, { agent_id: set.agent.id });
      const row = (await findChat(t, chat.id, set.human))!;
      await postChatMessage(t, set.human, row, { body_markdown: 'My salary is too low.' });
      return chat.id;
    });
    const { agent_files, chat_messages } = schema;
    const messages = async () => tx.select().from(chat_messages).where(eq(chat_messages.chat_id, id));
    const reply = await waitFor(async () => (await messages()).find(({ role }) => role === 'assistant'));
    expect(reply.body_markdown).toBe('Noted.');
    const own = path.join(folder, 'home', 'companies', set.company.id);
    expect(await readdir(own, { recursive: true })).toEqual(['private-runs']);
    const kept = await tx.select().from(agent_files).where(eq(agent_files.agent_id, set.agent.id));
    expect(kept.map((file) => file.path)).toEqual(['shared.txt']);
  });
});

describe('what a dead scheduler left', () => {
  it('is killed at boot when its run has ended, and left alone while it runs or is not ours', async () => {
    const set = await scene();
    await start([{ hang: 'polite' }]);
    const { id } = await invoke(set);
    await waitFor(async () => (await marked(id)).length > 0, { what: 'the program' });
    // As if its scheduler had been killed: the row has ended, the program has not.
    const other = await start([]);
    expect(await marked(id)).not.toEqual([]);
    await other.stop();
    running.splice(running.indexOf(other), 1);
    await db.database.db
      .update(schema.heartbeat_runs)
      .set({ status: 'failed', finished_at: new Date(), lease_expires_at: null })
      .where(eq(schema.heartbeat_runs.id, id));
    await start([]);
    await waitFor(async () => (await marked(id)).length === 0, { what: 'the end of the program' });
  });
});

describe('a test of an adapter', () => {
  it('makes one real call, in a session and folder of its own', async () => {
    await start([{ texts: ['ok'] }]);
    const set = await scene();
    const result = await testAdapter(set);
    expect(result).toMatchObject({ ok: true, detail: 'answered: ok', error: null });
    expect(await stateOf(set)).toMatchObject({ session_id: null });
    expect(await readdir(path.join(set.home, 'work'))).toEqual([]);
    const [call] = await fakeCliJournal(set.home);
    expect(call?.env).not.toHaveProperty('SERVICE_API_KEY');
  });

  it('of the second CLI is made whatever the agent’s own adapter is', async () => {
    await start([{}]);
    const set = await scene({ adapter_type: 'llm' });
    expect(await testAdapter(set, 'cli_b_local')).toMatchObject({ ok: true });
    expect((await fakeCliJournal(set.home))[0]?.args).toContain('exec');
  });

  it('says what stands in the way', async () => {
    await start([{ fail: { status: 401, message: `Wrong key ${OPERATOR_SECRET}` } }]);
    expect(await testAdapter(await scene())).toMatchObject({
      ok: false,
      error: 'auth: Wrong key [redacted]',
    });
    const unconfigured = { adapter_type: 'cli_a_sandbox' };
    expect(await testAdapter(await scene(unconfigured))).toMatchObject({
      ok: false,
      error: expect.stringContaining('SERVICE_CLI_SANDBOX_IMAGE'),
    });
    expect(await testAdapter(await scene({ adapter_type: 'llm' }))).toMatchObject({
      ok: false,
      error: expect.stringMatching(/^config: no LLM provider is configured: connect a model/),
    });
  });
});

describe('a run of a remote agent', () => {
  it('is queued as a task, gives its slot and lease up, and fails when nobody takes it', async () => {
    await start([], { WORKER_POOL_SIZE: '1' });
    const adapter_config = { tags: ['gpu'], timeout_seconds: 2, token: '${secret:NAME}' };
    const set = await scene({ adapter_type: 'remote', adapter_config });
    const { id } = await invoke(set);
    const task = await waitFor(async () => (await tasksOf(set))[0], { what: 'the task' });
    expect(task).toMatchObject({ heartbeat_run_id: id, status: 'queued', tags_required: ['gpu'] });
    expect(task.payload).toMatchObject({
      run_id: id,
      agent_name: 'Ada',
      adapter_type: 'remote',
      adapter_config,
      wake_reason: 'manual',
      issue: { identifier: set.issue.identifier, title: 'Paint the shed', body_markdown: '' },
    });
    expect(await read(id)).toMatchObject({ status: 'running', lease_expires_at: null });
    const quick = await scene();
    expect(await complete(quick)).toMatchObject({ status: 'succeeded' });
    expect(await ended(id)).toMatchObject({ status: 'failed', error_category: 'timeout' });
    expect((await tasksOf(set))[0]).toMatchObject({ status: 'failed' });
    expect((await transcriptOf({ id })).map(({ kind }) => kind)).toEqual([
      'status',
      'log',
      'error',
      'status',
    ]);
  });

  it('ends soon after it is called off, while nobody has its task', async () => {
    await start([]);
    const set = await scene({ adapter_type: 'remote' });
    const { id } = await invoke(set);
    await waitFor(async () => (await tasksOf(set)).length === 1, { what: 'the task' });
    await transaction(db.database, async (tx) => cancelRun(tx, set.human, { id }));
    expect(await ended(id)).toMatchObject({ status: 'cancelled' });
    expect((await tasksOf(set))[0]).toMatchObject({ status: 'cancelled' });
  });

  it('called off gives the worker that has its task a minute', async () => {
    await start([]);
    const set = await scene({ adapter_type: 'remote' });
    const { id } = await invoke(set);
    const task = await waitFor(async () => (await tasksOf(set))[0], { what: 'the task' });
    const change = async (values: Partial<typeof task>) =>
      db.database.db.update(schema.remote_tasks).set(values).where(eq(schema.remote_tasks.id, task.id));
    await change({ status: 'claimed' });
    await transaction(db.database, async (tx) => cancelRun(tx, set.human, { id }));
    await waitFor(async () => (await tasksOf(set))[0]?.status === 'cancel_requested', {
      what: 'the request',
    });
    expect(await read(id)).toMatchObject({ status: 'running' });
    await change({ deadline: new Date(0) });
    expect(await ended(id)).toMatchObject({ status: 'cancelled' });
  });
});
