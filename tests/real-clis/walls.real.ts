// The vendors' own programs in the sandbox: what their profiles allow their models, and a program that tries to escape,
// started by their own shells.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type AdapterEvent, execute, killMarked, markedProcesses, Reach } from '@acp/adapters';
import { findBubblewrap, newId } from '@acp/kernel';
import {
  type FakeVendorModel,
  type HostileMachine,
  hostileCommand,
  startFakeVendorModel,
  startHostileMachine,
  type VendorAnswer,
} from '@acp/testkit';

type Kind = 'a' | 'b';

const bubblewrap = await findBubblewrap();
const here: typeof describe.skip = 'file' in bubblewrap ? describe : describe.skip;
const bin = path.join(process.env.REAL_CLIS_FOLDER ?? '', 'node_modules/.bin');

let folder: string;
let machine: HostileMachine;
let model: FakeVendorModel;
const answers: VendorAnswer[] = [];

beforeAll(async () => {
  model = await startFakeVendorModel(() => answers.shift() ?? 'Done.');
});
beforeEach(async () => {
  folder = await mkdtemp('/var/tmp/real-walls-');
  machine = await startHostileMachine(folder);
  answers.length = 0;
});
afterEach(async () => {
  machine.close();
  await rm(folder, { recursive: true, force: true });
});
afterAll(async () => model.close());

function commandOf(kind: Kind): string[] {
  if (kind === 'a') return [path.join(bin, 'claude')];
  const settings = [
    'model_provider="fake"',
    'model_providers.fake.name="fake"',
    `model_providers.fake.base_url="${model.url}/v1"`,
    'model_providers.fake.wire_api="responses"',
    'model_providers.fake.env_key="FAKE_KEY"',
  ];
  return [path.join(bin, 'codex'), ...settings.flatMap((setting) => ['-c', setting])];
}

/** Runs sandboxed once, with a model that executes these commands one after the other. */
async function run(kind: Kind, adapter_config: object, commands: readonly string[]) {
  const { about, hidden } = machine;
  const run_id = newId();
  const service = { host: 'localhost', port: about.service_port };
  const { hostname, port } = new URL(model.url);
  answers.push(...commands.map((command) => ({ command })));
  const cwd = path.join(about.home, 'work');
  await mkdir(path.join(about.home, '.service-tmp'), { recursive: true });
  const { dev, ino } = await stat(cwd);
  const task = {
    run_id,
    adapter_type: `cli_${kind}_local`,
    provider: null,
    model: 'fake-model',
    system_prompt: 'You paint sheds.',
    messages: [{ role: 'user' as const, content: 'Paint the shed' }],
    max_output_tokens: 100,
    timeouts: { idle_sec: 60, total_sec: 60 },
    adapter_config,
    program: {
      command: commandOf(kind),
      home: about.home,
      cwd,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: about.home,
        LANG: 'C.UTF-8',
        SERVICE_RUN_ID: run_id,
        ANTHROPIC_API_KEY: 'key-of-a',
        ANTHROPIC_BASE_URL: model.url,
        FAKE_KEY: 'key-of-b',
        IS_SANDBOX: '1',
      },
      timeout_sec: 90,
      session: null,
      retries: 0,
      container: null,
      workspace: { path: cwd, identity: `${dev}:${ino}`, readable: [] },
      sandbox: {
        bubblewrap: 'file' in bubblewrap ? bubblewrap.file : '',
        readable: [],
        hidden,
        reach: new Reach({ places: [service, { host: hostname, port: Number(port) }] }),
        loopback: service,
        limits: { memory: '3g', cpus: 2, pids: 512 },
        control_groups: 'auto' as const,
      },
    },
  };
  const events: AdapterEvent[] = [];
  try {
    for await (const event of execute(task, new AbortController().signal)) events.push(event);
  } finally {
    await killMarked(run_id);
  }
  const left = (await markedProcesses()).filter((each) => each.run_id === run_id);
  return { events: JSON.stringify(events), cwd, left };
}

here('the real CLIs within walls', () => {
  it.each<[Kind, string, boolean]>([
    ['a', 'read', false],
    ['a', 'edit', false],
    ['a', 'commands', true],
    ['b', 'read', false],
    ['b', 'edit', false],
    ['b', 'commands', true],
  ])('of CLI %s with the profile %s a program is run: %s', async (kind, permissions, may) => {
    const { cwd, events } = await run(kind, { permissions }, [
      `${process.execPath} -e 'require("fs").writeFileSync("made.txt", "x")'`,
    ]);
    expect(existsSync(path.join(cwd, 'made.txt'))).toBe(may);
    expect(events).toContain('Done.');
  });

  it.each<Kind>(['a', 'b'])(
    'CLI %s starts a program that wants out: it finds none of the ways',
    async (kind) => {
      const { about } = machine;
      const [node = '', flag = '', program = ''] = hostileCommand();
      await copyFile(program, path.join(about.home, 'hostile.mts'));
      await writeFile(path.join(about.home, 'about.json'), JSON.stringify(about));
      // Connected by pipes: the files it has open are checked.
      const line = `cat ~/about.json | ${node} ${flag} ~/hostile.mts 2>&1 | cat > ~/trials; echo tried`;
      const { left } = await run(kind, {}, [line]);
      const told = await readFile(path.join(about.home, 'trials'), 'utf8');
      const trials = told
        .split('\n')
        .filter((each) => each.startsWith('{'))
        .map((each) => JSON.parse(each) as { way: string; came_to: string });
      const out = trials.filter(({ way }) => !way.startsWith('may '));
      expect(out.length).toBeGreaterThanOrEqual(25);
      expect(out.filter(({ came_to }) => came_to !== 'shut')).toEqual([]);
      expect(trials.length - out.length).toBe(6);
      expect(left).toEqual([]);
      expect(machine.isUnharmed()).toBe(true);
    },
  );
});
