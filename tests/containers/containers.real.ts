// The container adapters against a real engine. Run by `npm run test:containers`, which finds one and makes the image: a
// shell and a few tools, and the second vendor's CLI where it was given.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type AdapterEvent,
  type AdapterTask,
  containerName,
  type ContainerSpec,
  execute,
  killMarked,
  labelledContainers,
  markedProcesses,
  removeContainer,
} from '@acp/adapters';
import { newId } from '@acp/kernel';
import { startFakeVendorModel, waitFor } from '@acp/testkit';

const engine = {
  cli: (process.env.CONTAINER_CLI ?? '').split(' '),
  cli_env: Object.fromEntries(
    ['PATH', 'HOME', 'DOCKER_HOST', 'CONTAINERS_CONF', 'XDG_RUNTIME_DIR'].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  ),
};
const image = process.env.CONTAINER_TEST_IMAGE ?? '';
const hasCli = process.env.CONTAINER_TEST_CLI === 'yes';

let folder: string;
let run_ids: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp('/var/tmp/containers-test-');
});

afterEach(async () => {
  await Promise.all(run_ids.map(async (id) => removeContainer(engine, containerName(id))));
  await Promise.all(run_ids.map(killMarked));
  run_ids = [];
  await rm(folder, { recursive: true, force: true });
});

async function taskOf(
  config: Record<string, unknown>,
  changes: Partial<ContainerSpec> = {},
  type = 'docker',
): Promise<AdapterTask> {
  const run_id = newId();
  run_ids.push(run_id);
  const [home, cwd] = [path.join(folder, 'home'), path.join(folder, 'home/work')];
  await mkdir(cwd, { recursive: true });
  return {
    run_id,
    adapter_type: type,
    provider: null,
    model: 'fake-model',
    system_prompt: 'You paint sheds.',
    messages: [{ role: 'user', content: 'Paint' }],
    max_output_tokens: 100,
    timeouts: { idle_sec: 30, total_sec: 30 },
    adapter_config: { image, ...config },
    payload: { run_id, wake_reason: 'manual' },
    program: {
      command: ['/bin/codex'],
      home,
      cwd,
      env: { PATH: '/nowhere', HOME: home, SERVICE_RUN_ID: run_id, SERVICE_API_KEY: 'key-of-the-run' },
      timeout_sec: 45,
      session: null,
      container: {
        ...engine,
        image,
        memory: '256m',
        cpus: 1,
        pids: 64,
        network: 'none',
        ...changes,
      },
    },
  };
}

async function collect(task: AdapterTask, signal = new AbortController().signal) {
  const events: AdapterEvent[] = [];
  let failure: unknown;
  try {
    for await (const event of execute(task, signal)) events.push(event);
  } catch (err) {
    failure = err;
  }
  return {
    events,
    failure,
    said: events.map((event) => (event.kind === 'output' ? event.text : '')).join(''),
  };
}

/** A container that answers with what the shell line writes, on one line of JSON. */
const saying = (line: string) => ({
  command: ['/bin/sh', '-c', `printf '{"summary":"%s"}\\n' "$(${line} | tr '\\n"' ' .')"`],
});
const left = async ({ run_id }: AdapterTask) => ({
  containers: (await labelledContainers(engine)).filter((id) => id === run_id),
  processes: (await markedProcesses()).filter((each) => each.run_id === run_id),
});
const nothing = { containers: [], processes: [] };

describe('a container', () => {
  it('gets the payload and gives the result body back', async () => {
    const line = `read -r task; echo starting; echo '{"summary":"done: '"$(echo "$task" | tr -d '"')"'","model":"m","input_tokens":5,"output_tokens":2,"cost_usd":0.5}'`;
    const task = await taskOf({ command: ['/bin/sh', '-c', line] });
    const { events, failure, said } = await collect(task);
    expect(failure).toBeUndefined();
    expect(said).toBe(`done: {run_id:${task.run_id},wake_reason:manual}`);
    expect(events).toEqual(
      expect.arrayContaining([
        { kind: 'log', message: 'starting' },
        { kind: 'usage', model: 'm', input_tokens: 5, output_tokens: 2, cached_tokens: 0, cost_usd: 0.5 },
      ]),
    );
    expect(await left(task)).toEqual(nothing);
  });

  it('has its environment, the values of its own too, and nothing of the machine’s', async () => {
    const config = { ...saying('env | sort'), env: { TOKEN: 'a value $HOME "quoted"' } };
    const { said } = await collect(await taskOf(config));
    expect(said).toContain('TOKEN=a value $HOME .quoted.');
    expect(said).toContain('SERVICE_API_KEY=key-of-the-run');
    expect(said).toContain('HOME=/home/agent');
    expect(said).not.toContain('/nowhere');
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('service-env-'))).toEqual([]);
  });

  it('writes into its home and folder only, and has no network', async () => {
    const line =
      'touch made /home/agent/too /tmp/t; touch /etc/x 2>/dev/null || echo refused; ls /sys/class/net';
    const task = await taskOf(saying(`{ ${line}; }`));
    const { said, failure } = await collect(task);
    expect(failure).toBeUndefined();
    expect(said.trim().split(/\s+/)).toEqual(['refused', 'lo']);
    await stat(path.join(task.program!.cwd, 'made'));
    expect(await readFile(path.join(task.program!.home, 'too'), 'utf8')).toBe('');
  });

  it('that takes more memory than it may is killed, and the run told', async () => {
    const eat = ['/bin/sh', '-c', 'x=aaaaaaaaaaaaaaaa; while true; do x=$x$x; done'];
    const { failure } = await collect(await taskOf({ command: eat }, { memory: '32m' }));
    expect(failure).toMatchObject({
      message: expect.stringMatching(/^the container ended with exit code 137/),
    });
  });

  it('that gives no result body fails', async () => {
    const { failure } = await collect(await taskOf({ command: ['/bin/echo', 'hello'] }));
    expect(failure).toMatchObject({
      category: 'permanent',
      message: expect.stringContaining('no result body'),
    });
  });

  it('called off is gone, however stubborn', async () => {
    const task = await taskOf({ command: ['/bin/sh', '-c', 'trap "" TERM; while true; do sleep 1; done'] });
    const stop = new AbortController();
    const going = collect(task, stop.signal);
    await waitFor(async () => (await left(task)).containers.length > 0, {
      timeout_ms: 30_000,
      what: 'the container',
    });
    stop.abort();
    expect((await going).failure).toMatchObject({ category: 'cancelled' });
    expect(await left(task)).toEqual(nothing);
  });
});

(hasCli ? describe : describe.skip)('the second CLI in a container', () => {
  it('runs in the agent’s home, reaches its model, and its session outlives the container', async () => {
    const model = await startFakeVendorModel(() => 'ok');
    const settings = [
      'model_provider="fake"',
      'model_providers.fake.name="fake"',
      `model_providers.fake.base_url="${model.url}/v1"`,
      'model_providers.fake.wire_api="responses"',
      'model_providers.fake.env_key="FAKE_KEY"',
    ].flatMap((setting) => ['-c', setting]);
    try {
      const task = await taskOf({}, { network: 'host', memory: '1g' }, 'cli_b_sandbox');
      const program = { ...task.program!, command: ['/bin/codex', ...settings] };
      program.env.FAKE_KEY = 'key';
      const first = await collect({ ...task, program });
      expect(first).toMatchObject({ failure: undefined, said: 'ok' });
      const session = first.events.find((event) => event.kind === 'session')?.session ?? null;
      const second = await collect({ ...task, program: { ...program, session } });
      expect(second).toMatchObject({ failure: undefined, said: 'ok' });
      expect(second.events.find((event) => event.kind === 'session')?.session?.id).toBe(session?.id);
      expect(await left(task)).toEqual(nothing);
    } finally {
      await model.close();
    }
  });
});
