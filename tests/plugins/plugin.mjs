#!/usr/bin/env node
// A plugin for tests: well-behaved unless its configuration or a tool says otherwise.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const state = { events: [], webhooks: [], jobs: [], init: null };
const waiting = new Map();
/** Never released. */
const hoard = [];
let asked = 0;

const send = (type, payload = {}) => process.stdout.write(`${JSON.stringify({ type, payload })}\n`);
const ask = (service, args) =>
  new Promise((resolve) => {
    const request_id = `r${(asked += 1)}`;
    waiting.set(request_id, resolve);
    send('host_request', { service, args, request_id });
  });
/** Inserts what no request may contain: NUL for %NUL. */
const evil = (value) => JSON.parse(JSON.stringify(value).replaceAll('%NUL', '\\u0000'));
const attempt = (work) => {
  try {
    return work() ?? 'done';
  } catch (err) {
    return `refused: ${err.code ?? err.message}`;
  }
};
const reach = (host, port) =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.on('connect', () => resolve('reached')).on('error', (err) => resolve(`refused: ${err.code}`));
  });

const any = { type: 'object' };
const tools = {
  echo: {
    schema: {
      type: 'object',
      properties: { text: { type: 'string', maxLength: 100 } },
      required: ['text'],
      additionalProperties: false,
    },
    call: ({ text }) => ({ text, pid: process.pid }),
  },
  say: { schema: any, call: (input) => ({ [evil(input).text]: evil(input).text }) },
  state: { schema: any, call: () => state },
  host: { schema: any, call: ({ service, args }) => ask(service, args) },
  ask: {
    schema: any,
    call: (payload) =>
      new Promise((resolve) => {
        waiting.set(payload.request_id, resolve);
        send('host_request', payload);
      }),
  },
  write: { schema: any, call: ({ type, payload }) => send(type, payload) },
  store: {
    schema: any,
    call: ({ length }) => ask('kv', { ops: [{ op: 'set', key: 'large', value: 'x'.repeat(length) }] }),
  },
  fail: {
    schema: any,
    call: () => {
      throw new Error('this tool fails');
    },
  },
  silent: { schema: any, call: () => new Promise(() => undefined) },
  twice: {
    schema: any,
    call: (_, request_id) => {
      send('tool_result', { request_id, result: 'first', error: null });
      return 'second';
    },
  },
  exit: { schema: any, call: () => process.exit(3) },
  garbage: { schema: any, call: () => void process.stdout.write('this is no JSON\n') },
  oversized: { schema: any, call: () => void process.stdout.write(`"${'x'.repeat(1_100_000)}"\n`) },
  flood: {
    schema: any,
    call: async ({ lines }) => {
      for (let n = 0; n < lines; n += 1) send('log', { level: 'info', message: `line ${n}` });
      return lines;
    },
  },
  bomb: {
    schema: any,
    call: async ({ processes }) => {
      for (let n = 0; n < processes; n += 1)
        spawn('sleep', ['60'], { stdio: 'ignore' }).on('error', () => undefined);
      await new Promise((resolve) => setTimeout(resolve, 4000));
      return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length;
    },
  },
  spin: {
    schema: any,
    // By one shell: the plugin is not busy starting them.
    call: async ({ processes }) => {
      const all = `n=0; while [ $n -lt ${processes} ]; do (while :; do :; done) & n=$((n + 1)); done; wait`;
      spawn('sh', ['-c', all], { stdio: 'ignore' }).on('error', () => undefined);
    },
  },
  fill: {
    schema: any,
    call: ({ megabytes }) => {
      for (let n = 0; n < megabytes; n += 1)
        writeFileSync(`${process.env.SERVICE_PLUGIN_WORKSPACE}/part${n}`, Buffer.alloc(1024 * 1024));
    },
  },
  memory: {
    schema: any,
    call: ({ megabytes }) => {
      hoard.push(Buffer.alloc(megabytes * 1024 * 1024, 1));
      return megabytes;
    },
  },
  escape: {
    schema: any,
    call: async ({ port, secret_file }) => ({
      network: await reach('127.0.0.1', port),
      host_file: attempt(() => readFileSync(secret_file, 'utf8')),
      accounts: attempt(() => readFileSync('/etc/shadow', 'utf8')),
      root: attempt(() => writeFileSync('/written', 'x')),
      usr: attempt(() => writeFileSync('/usr/written', 'x')),
      device: attempt(() => writeFileSync('/dev/shm/written', 'x')),
      temp: attempt(() => writeFileSync('/tmp/written', 'x')),
      temp_large: attempt(() => writeFileSync('/tmp/large', Buffer.alloc(80 * 1024 * 1024))),
      workspace: attempt(() => writeFileSync(`${process.env.SERVICE_PLUGIN_WORKSPACE}/written`, 'x')),
      workspace_large: attempt(() =>
        writeFileSync(`${process.env.SERVICE_PLUGIN_WORKSPACE}/large`, Buffer.alloc(120 * 1024 * 1024)),
      ),
      processes: readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length,
      env: Object.keys(process.env).toSorted(),
      sysctl: attempt(() => writeFileSync('/proc/sys/kernel/hostname', 'x')),
      binary: attempt(() => writeFileSync(process.argv[1], 'x')),
      docker: existsSync('/var/run/docker.sock'),
    }),
  },
};

function manifest(config) {
  return {
    name: 'Test plugin',
    tools: Object.entries(tools).map(([name, { schema }]) => ({
      name,
      namespace: config.namespace ?? 'test',
      description: `Tool ${name}`,
      input_schema: schema,
    })),
    events: ['issue.*'],
    jobs: [{ name: 'tick', schedule: '* * * * *', config: { a: 1 } }],
    webhooks: [{ path: `/${config.namespace ?? 'test'}/hook` }],
    ...config.manifest,
  };
}

function begin(payload) {
  state.init = payload;
  if (payload.config?.stubborn) setInterval(() => undefined, 1000);
  const config = evil(payload.config ?? {});
  if (config.write) process.stdout.write(config.write);
  if (config.stderr) process.stderr.write(config.stderr);
  if (config.exit !== undefined) process.exit(config.exit);
  if (config.close) process.stdout.end();
  if (config.quiet) return;
  send('ready', { manifest: manifest(config), protocol_version: config.version ?? 1 });
  if (config.log) send('log', { level: 'info', message: config.log });
  if (config.exit_after) setTimeout(() => process.exit(4), config.exit_after);
}

async function invoke({ tool, input, request_id }) {
  try {
    send('tool_result', { request_id, result: await tools[tool].call(input, request_id), error: null });
  } catch (err) {
    send('tool_result', { request_id, result: null, error: err.message });
  }
}

createInterface(process.stdin).on('line', (line) => {
  const { type, payload } = JSON.parse(line);
  const config = state.init?.config ?? {};
  switch (type) {
    case 'init':
      return begin(payload);
    case 'health_check':
      return config.deaf ? undefined : send(config.health ?? 'health_check', config.health_payload);
    case 'invoke_tool':
      return void invoke(payload);
    case 'trigger_event':
      state.events.push(payload);
      if (config.mute?.includes(payload.event_type)) return undefined;
      return send('event_handled', { event_type: payload.event_type, result: null });
    case 'run_job':
      state.jobs.push(payload);
      if (config.keeps_jobs) return undefined;
      return send('job_result', { job_name: payload.job_name, result: { ran: true } });
    case 'deliver_webhook': {
      const { body_file } = payload;
      const length = body_file ? readFileSync(body_file).length : undefined;
      state.webhooks.push({ ...payload, length });
      return;
    }
    case 'tool_result':
      waiting.get(payload.request_id)?.(payload);
      return;
    case 'shutdown':
      if (!config.stubborn) process.exit(0);
  }
});
