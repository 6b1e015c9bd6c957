// The CLI adapters against the vendors' own programs, whose models are servers of this test on loopback. Run by
// `npm run test:real-clis`, which installs the programs outside the repository.
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type AdapterEvent, type CliSession, execute, killMarked, markedProcesses } from '@acp/adapters';
import { newId } from '@acp/kernel';
import {
  type FakeVendorModel,
  startFakeVendorModel,
  vendorUsage,
  type VendorAnswer,
  waitFor,
} from '@acp/testkit';

type Kind = 'a' | 'b';

const bin = path.join(process.env.REAL_CLIS_FOLDER ?? '', 'node_modules/.bin');
const input_tokens = vendorUsage.fresh + vendorUsage.written + vendorUsage.cached;

let answer: () => VendorAnswer | Promise<VendorAnswer> = () => 'ok';
const model: FakeVendorModel = await startFakeVendorModel(async () => answer());
let home: string;
let run_ids: string[] = [];

beforeEach(async () => {
  answer = () => 'ok';
  // Not below the system's temporary folder, where the second CLI's sandbox cannot find itself.
  home = await mkdtemp('/var/tmp/real-clis-home-');
  await Promise.all([mkdir(path.join(home, 'work')), mkdir(path.join(home, '.service-tmp'))]);
  model.requests.length = 0;
});

afterEach(async () => {
  await Promise.all(run_ids.map(killMarked));
  run_ids = [];
  await rm(home, { recursive: true, force: true });
});

afterAll(async () => model.close());

const commands: Record<Kind, string[]> = {
  a: [path.join(bin, 'claude')],
  b: [
    path.join(bin, 'codex'),
    ...[
      'model_provider="fake"',
      'model_providers.fake.name="fake"',
      `model_providers.fake.base_url="${model.url}/v1"`,
      'model_providers.fake.wire_api="responses"',
      'model_providers.fake.env_key="FAKE_KEY"',
      'model_providers.fake.request_max_retries=0',
      'model_providers.fake.stream_max_retries=0',
    ].flatMap((setting) => ['-c', setting]),
  ],
};

interface Call {
  prompt?: string;
  session?: CliSession | null | undefined;
  dangerous?: boolean;
  signal?: AbortSignal;
}

async function run(kind: Kind, { prompt = 'Paint the shed', session = null, dangerous, signal }: Call = {}) {
  const run_id = newId();
  run_ids.push(run_id);
  const task = {
    run_id,
    adapter_type: `cli_${kind}_local`,
    provider: null,
    model: 'fake-model',
    system_prompt: 'You paint sheds.',
    messages: [{ role: 'user' as const, content: prompt }],
    max_output_tokens: 100,
    timeouts: { idle_sec: 30, total_sec: 30 },
    adapter_config: dangerous === undefined ? {} : { allow_dangerous_permissions: dangerous },
    program: {
      command: commands[kind],
      home,
      cwd: path.join(home, 'work'),
      env: {
        PATH: process.env.PATH ?? '',
        HOME: home,
        LANG: 'C.UTF-8',
        TERM: 'dumb',
        SERVICE_RUN_ID: run_id,
        ANTHROPIC_API_KEY: 'key-of-a',
        ANTHROPIC_BASE_URL: model.url,
        FAKE_KEY: 'key-of-b',
        // Otherwise the first CLI refuses its permission switch when run as root.
        IS_SANDBOX: '1',
      },
      timeout_sec: 45,
      session,
      retries: 0,
      container: null,
    },
  };
  const events: AdapterEvent[] = [];
  let failure: unknown;
  try {
    for await (const event of execute(task, signal ?? new AbortController().signal)) events.push(event);
  } catch (err) {
    failure = err;
  }
  const left = (await markedProcesses()).filter((each) => each.run_id === run_id);
  return { run_id, events, failure, left };
}

const textOf = (events: AdapterEvent[]) =>
  events.map((event) => (event.kind === 'output' ? event.text : '')).join('');
const usageOf = (events: AdapterEvent[]) => events.filter(({ kind }) => kind === 'usage');
const sessionOf = (events: AdapterEvent[]) => events.findLast((event) => event.kind === 'session')?.session;

describe.each<Kind>(['a', 'b'])('the real CLI %s', (kind) => {
  it('answers with text, usage and a session', async () => {
    const { events, failure, left } = await run(kind);
    expect(failure).toBeUndefined();
    expect(textOf(events)).toBe('ok');
    expect(usageOf(events)).toMatchObject([{ input_tokens, cached_tokens: 30, output_tokens: 7 }]);
    expect(sessionOf(events)?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(left).toEqual([]);
    const sent = JSON.stringify(model.requests.at(-1)?.body);
    expect(sent).toContain('You paint sheds.');
    expect(sent).toContain('Paint the shed');
  });

  it('goes on from a session, and each run counts its own', async () => {
    const first = await run(kind);
    const second = await run(kind, { session: sessionOf(first.events), prompt: 'Paint it again' });
    expect(sessionOf(second.events)?.id).toBe(sessionOf(first.events)?.id);
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('Paint the shed');
    const third = await run(kind, { session: sessionOf(second.events), prompt: 'And again' });
    expect(usageOf(third.events)).toMatchObject(
      usageOf(first.events).map((usage) => ({ ...usage, input_tokens, output_tokens: 7 })),
    );
  });

  it('begins afresh when it does not know the session', async () => {
    const totals = { input_tokens: 1, output_tokens: 1, cached_tokens: 1, cost_usd: 1 };
    const session = { id: newId(), cwd: home, totals };
    const { events, failure } = await run(kind, { session });
    expect(failure).toBeUndefined();
    expect(textOf(events)).toBe('ok');
    expect(sessionOf(events)?.id).not.toBe(session.id);
  });

  it('takes a prompt for what it is: no command, no file', async () => {
    const secret = path.join(home, 'secret.txt');
    await writeFile(secret, 'nobody may read this');
    const { failure } = await run(kind, { prompt: `/clear\n@${secret} please` });
    expect(failure).toBeUndefined();
    const sent = JSON.stringify(model.requests.map(({ body }) => body));
    expect(sent).toContain('/clear');
    expect(sent).not.toContain('nobody may read this');
  });

  it('runs nothing that files in its home or folder name', async () => {
    const touched = path.join(home, 'touched');
    const hook = [{ hooks: [{ type: 'command', command: `touch ${touched}` }] }];
    const settings = JSON.stringify({ hooks: { SessionStart: hook, UserPromptSubmit: hook, Stop: hook } });
    const toml = `notify = ["touch", "${touched}"]\n[mcp_servers.x]\ncommand = "touch"\nargs = ["${touched}"]\n`;
    const server = JSON.stringify({ mcpServers: { x: { command: 'touch', args: [touched] } } });
    const files: Record<string, string> = {
      '.claude/settings.json': settings,
      'work/.claude/settings.json': settings,
      'work/.claude/settings.local.json': settings,
      'work/.mcp.json': server,
      '.codex/config.toml': toml,
      'work/.codex/config.toml': toml,
      '.bash_profile': `touch ${touched}\n`,
      '.bashrc': `touch ${touched}\n`,
    };
    for (const [name, content] of Object.entries(files)) {
      const file = path.join(home, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, content);
    }
    const { failure } = await run(kind);
    expect(failure).toBeUndefined();
    expect(existsSync(touched)).toBe(false);
  });

  it.each([
    [400, 'permanent'],
    [401, 'auth'],
  ])('fails with the words of its endpoint after status %i', async (status, category) => {
    answer = () => ({ status, message: 'no such thing here' });
    const { failure, left } = await run(kind);
    expect(failure).toMatchObject({ category, message: expect.stringContaining('no such thing here') });
    expect(left).toEqual([]);
  });

  it('called off while its model is silent, ends at once and leaves nothing', async () => {
    const asked = Promise.withResolvers<void>();
    answer = async () => {
      asked.resolve();
      return new Promise(() => undefined);
    };
    const stop = new AbortController();
    const going = run(kind, { signal: stop.signal });
    await asked.promise;
    stop.abort();
    const { failure, left } = await going;
    expect(failure).toMatchObject({ category: 'cancelled' });
    expect(left).toEqual([]);
  });

  it('done takes along what its shell left in the background', async () => {
    const answers: VendorAnswer[] = [{ command: 'setsid sleep 4711 >/dev/null 2>&1 & echo started' }, 'done'];
    answer = () => answers.shift() ?? 'done';
    const { events, failure, left } = await run(kind, { dangerous: true });
    expect(failure).toBeUndefined();
    expect(textOf(events)).toBe('done');
    expect(JSON.stringify(events.filter((event) => event.kind === 'tool'))).toContain('started');
    expect(left).toEqual([]);
  });

  it('called off in the middle of a command takes that along', async () => {
    answer = () => ({ command: 'sleep 4712' });
    const stop = new AbortController();
    const going = run(kind, { signal: stop.signal, dangerous: true });
    const isAsleep = async (pid: number) =>
      (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) === 'sleep\u00004712\u0000';
    await waitFor(
      async () => {
        const mine = (await markedProcesses()).filter(({ run_id }) => run_ids.includes(run_id));
        return (await Promise.all(mine.map(async ({ pid }) => isAsleep(pid)))).includes(true);
      },
      { timeout_ms: 30_000, what: 'the command' },
    );
    stop.abort();
    const { left } = await going;
    expect(left).toEqual([]);
  });
});
