// The container adapters against a real engine. Run by `npm run test:containers`, which finds one and builds the image: a
// shell and a few tools, and the second vendor's CLI if it was provided.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import {
  type AdapterEvent,
  type AdapterTask,
  type ContainerSpec,
  execute,
  killMarked,
  labelledContainers,
  markedProcesses,
  Reach,
  removeRunContainers,
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
  await Promise.all(run_ids.map(async (id) => removeRunContainers(engine, id)));
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

/** A container that answers with the output of the shell line, as one line of JSON. */
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
      message: expect.stringContaining('not a result body'),
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

/** Its first argument describes what there is to find; each attempt's outcome is one line of its result. */
const TRIES = `
import http from 'node:http';
import net from 'node:net';
import dgram from 'node:dgram';
import fs from 'node:fs';
import os from 'node:os';
const { listed, other, outside } = JSON.parse(process.argv[2]);
const said = {};
const attempt = async (way, work) => {
  said[way] = await Promise.race([work(), new Promise((done) => setTimeout(done, 3000, 'shut'))]).catch(() => 'shut');
};
const reach = (to) => () => new Promise((done, failed) => {
  const one = net.connect({ timeout: 2000, ...to }, () => done('reached'));
  for (const event of ['error', 'timeout']) one.once(event, () => (one.destroy(), failed(new Error(event))));
});
const get = (url) => async () => { const got = await fetch(url); return got.ok ? await got.text() : 'shut'; };
await attempt('listed', get(\`http://localhost:\${listed}/x\`));
await attempt('another port of the machine', get(\`http://localhost:\${other}/x\`));
await attempt('metadata', get('http://169.254.169.254/latest'));
await attempt('a host of nobody’s list', get('http://example.com/'));
await attempt('the machine’s address', reach({ host: outside, port: listed }));
await attempt('a bridge', reach({ host: '10.88.0.1', port: listed }));
await attempt('a name server', async () => { const { lookup } = await import('node:dns/promises'); return (await lookup('example.com')).address; });
await attempt('udp', () => new Promise((done, failed) => {
  const one = dgram.createSocket('udp4');
  one.on('error', failed);
  one.send('x', 53, '8.8.8.8', (err) => (err ? failed(err) : done('sent')));
}));
await attempt('the proxy’s socket', async () => fs.readdirSync('/run/service').join());
said.interfaces = Object.keys(os.networkInterfaces()).join();
process.stdout.write(JSON.stringify({ summary: JSON.stringify(said) }), () => process.exit(0));
`;

(process.env.CONTAINER_TEST_NODE === 'yes' ? describe : describe.skip)(
  'a container whose company has a list',
  () => {
    it('reaches what is on it by the proxy, and nothing else', async () => {
      const servers = [1, 2].map(() => createServer((_asked, answer) => answer.end('answered')));
      for (const server of servers) await new Promise<void>((done) => server.listen(0, '0.0.0.0', done));
      const [listed = 0, other = 0] = servers.map((server) => (server.address() as AddressInfo).port);
      const outside = Object.values(networkInterfaces())
        .flatMap((each) => each ?? [])
        .find(({ internal, family }) => !internal && family === 'IPv4');
      const reach = new Reach({ places: [{ host: 'localhost', port: listed }] });
      const about = JSON.stringify({ listed, other, outside: outside?.address ?? '127.0.0.1' });
      const command = ['/usr/bin/node', '/home/agent/tries.mjs', about];
      try {
        const task = await taskOf({ command }, { reach, pids: 128 });
        await writeFile(path.join(task.program!.home, 'tries.mjs'), TRIES);
        const { said, failure } = await collect(task);
        expect(failure).toBeUndefined();
        const { interfaces, listed: got, ...ways } = JSON.parse(said) as Record<string, string>;
        expect([interfaces, got]).toEqual(['lo', 'answered']);
        expect(Object.entries(ways).filter(([, came_to]) => came_to !== 'shut')).toEqual([]);
        expect(Object.keys(ways)).toHaveLength(8);
        expect(reach.takeRefused().map(({ host, port }) => `${host}:${port}`)).toEqual([
          `localhost:${other}`,
          '169.254.169.254:80',
          'example.com:80',
        ]);
        expect(await left(task)).toEqual(nothing);
      } finally {
        for (const server of servers) server.close();
      }
    });

    it('called off leaves neither its container nor the one that leads it out', async () => {
      const reach = new Reach({ places: [] });
      const task = await taskOf({ command: ['/bin/sh', '-c', 'while true; do sleep 1; done'] }, { reach });
      const stop = new AbortController();
      const going = collect(task, stop.signal);
      await waitFor(async () => (await left(task)).containers.length === 2, {
        timeout_ms: 30_000,
        what: 'both containers',
      });
      stop.abort();
      expect((await going).failure).toMatchObject({ category: 'cancelled' });
      expect(await left(task)).toEqual(nothing);
    });
  },
);

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
