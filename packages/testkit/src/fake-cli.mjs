// @ts-check
// Stands in for the two CLIs that agents run: `node fake-cli.mjs a|b --fake=<script.json> …`. Speaks their output formats,
// keeps sessions in its home, and misbehaves on command.
//
// Plain JavaScript: tests start it hundreds of times, and stripping types would double its processor time.

import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * @typedef {import('./fake-cli-command.ts').FakeCliCall} Call
 * @typedef {{ input: number, cached: number, output: number, cost: number }} Totals
 * @typedef {{ id: string, before: Totals, now: Totals }} Session
 */

/** @param {unknown} line */
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function readAll() {
  /** @type {Buffer[]} */
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * @param {string} id
 * @returns {Totals | undefined}
 */
function loadSession(id) {
  const file = join(homedir(), '.fake-sessions', id);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

/**
 * @param {string} id
 * @param {Totals} totals
 */
function saveSession(id, totals) {
  const folder = join(homedir(), '.fake-sessions');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, id), JSON.stringify(totals));
}

function startStray() {
  // It inherits the output, so anyone waiting for end of file on it waits for this process too.
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  child.unref();
  return child.pid ?? 0;
}

/**
 * @typedef {object} Format
 * @property {(id: string) => void} unknown
 * @property {(session: Session) => void} begin
 * @property {(session: Session, text: string, index: number, used: Totals) => void} message
 * @property {(session: Session, index: number) => void} tool
 * @property {(session: Session, text: string, fail: Call['fail']) => void} end
 */

/** @type {Record<'a' | 'b', Format>} */
const formats = {
  a: {
    unknown(id) {
      const error = `No conversation found with session ID: ${id}`;
      say({
        type: 'result',
        subtype: 'error_during_execution',
        is_error: true,
        errors: [error],
        session_id: id,
      });
      process.stderr.write(`${error}\n`);
    },
    begin({ id }) {
      say({
        type: 'system',
        subtype: 'init',
        session_id: id,
        model: 'fake-a',
        tools: ['Bash'],
        cwd: process.cwd(),
      });
    },
    message({ id }, text, index, used) {
      const message = {
        id: `msg_${index}`,
        role: 'assistant',
        content: [{ type: 'text', text }],
        model: 'fake-a',
        usage: {
          input_tokens: used.input - used.cached,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: used.cached,
          output_tokens: 1,
        },
      };
      say({ parent_tool_use_id: null, session_id: id, message, type: 'assistant' });
    },
    tool({ id }, index) {
      const use = { type: 'tool_use', id: `toolu_${index}`, name: 'Bash', input: { command: 'ls' } };
      say({
        type: 'assistant',
        message: { id: `msg_${index}`, role: 'assistant', content: [use], model: 'fake-a' },
        session_id: id,
      });
      const result = {
        tool_use_id: `toolu_${index}`,
        type: 'tool_result',
        content: 'a.txt',
        is_error: false,
      };
      say({ type: 'user', message: { role: 'user', content: [result] }, session_id: id });
    },
    end({ id, before, now }, text, fail) {
      /** @param {keyof Totals} field */
      const used = (field) => now[field] - before[field];
      say({
        session_id: id,
        is_error: fail !== undefined,
        subtype: 'success',
        api_error_status: fail?.status ?? null,
        result: fail?.message ?? text,
        total_cost_usd: now.cost,
        usage: {
          input_tokens: used('input') - used('cached'),
          cache_read_input_tokens: used('cached'),
          cache_creation_input_tokens: 0,
          output_tokens: used('output'),
        },
        model_usage_since_last_result: {
          'fake-a': {
            inputTokens: used('input') - used('cached'),
            cacheReadInputTokens: used('cached'),
            cacheCreationInputTokens: 0,
            outputTokens: used('output'),
            costUSD: used('cost'),
          },
        },
        type: 'result',
      });
    },
  },
  b: {
    unknown(id) {
      process.stderr.write(`Error: no rollout found for thread id ${id}\n`);
    },
    begin({ id }) {
      say({ type: 'thread.started', thread_id: id });
      say({ type: 'turn.started' });
    },
    message(_, text, index) {
      say({ type: 'item.completed', item: { id: `item_${index}`, type: 'agent_message', text } });
    },
    tool(_, index) {
      const item = { id: `tool_${index}`, type: 'command_execution', command: "/bin/bash -lc 'ls'" };
      say({
        type: 'item.started',
        item: { ...item, aggregated_output: '', exit_code: null, status: 'in_progress' },
      });
      say({
        type: 'item.completed',
        item: { ...item, aggregated_output: 'a.txt\n', exit_code: 0, status: 'completed' },
      });
    },
    end({ now }, _text, fail) {
      if (fail !== undefined) {
        const message = `unexpected status ${fail.status}: ${fail.message}`;
        say({ type: 'error', message });
        say({ type: 'turn.failed', error: { message } });
        return;
      }
      say({
        type: 'turn.completed',
        usage: { input_tokens: now.input, cached_input_tokens: now.cached, output_tokens: now.output },
      });
    },
  },
};

/**
 * @param {'a' | 'b'} kind
 * @param {string[]} args
 */
function resumedId(kind, args) {
  if (kind === 'b') return args.includes('resume') ? args[args.indexOf('resume') + 1] : undefined;
  return args.find((arg) => arg.startsWith('--resume='))?.slice('--resume='.length);
}

async function main() {
  const [kind, fake = '', ...args] = process.argv.slice(2);
  if (kind !== 'a' && kind !== 'b') throw new Error('a or b?');
  /** @type {import('./fake-cli-command.ts').FakeCliScript} */
  const script = JSON.parse(readFileSync(fake.replace('--fake=', ''), 'utf8'));
  const stdin = await readAll();
  const journal = join(homedir(), 'fake-cli.jsonl');
  const earlier = existsSync(journal) ? readFileSync(journal, 'utf8').trim().split('\n').length : 0;
  const call = script.calls[Math.min(earlier, script.calls.length - 1)] ?? {};
  const stray_pid = call.stray ? startStray() : null;
  const entry = { args, cwd: process.cwd(), env: process.env, stdin, pid: process.pid, stray_pid };
  appendFileSync(journal, `${JSON.stringify(entry)}\n`);
  if (call.crash !== undefined) {
    process.stderr.write(call.crash.stderr);
    process.exitCode = call.crash.code;
    return;
  }
  if (call.sh !== undefined) spawnSync('/bin/sh', ['-ec', call.sh], { stdio: ['ignore', 2, 2] });
  await play(kind, call, resumedId(kind, args));
}

/**
 * @param {'a' | 'b'} kind
 * @param {Call} call
 * @param {string | undefined} resumed
 */
async function play(kind, call, resumed) {
  const format = formats[kind];
  const before = resumed === undefined ? { input: 0, cached: 0, output: 0, cost: 0 } : loadSession(resumed);
  if (before === undefined) {
    format.unknown(resumed ?? '');
    process.exitCode = 1;
    return;
  }
  const session = { id: call.session_id ?? resumed ?? randomUUID(), before, now: { ...before } };
  if (call.garbage)
    process.stdout.write('a launcher says hello\n{"type":"new","since":"tomorrow"}\n[1]\n{"broken\n');
  format.begin(session);
  for (const line of call.raw ?? []) process.stdout.write(`${line}\n`);
  const texts = call.texts ?? ['ok'];
  for (const [index, text] of texts.entries()) {
    const { input = 100, cached = 0, output = 10, cost_usd = 0.01 } = call.usage ?? {};
    session.now.input += input;
    session.now.cached += cached;
    session.now.output += output;
    session.now.cost += cost_usd;
    format.message(session, text, index, { input, cached, output, cost: cost_usd });
    if (index < texts.length - 1) format.tool(session, index);
  }
  if (call.session_id === undefined) saveSession(session.id, session.now);
  if (call.hang === 'stubborn') process.on('SIGTERM', () => undefined);
  if (call.hang !== undefined) await delay(600_000);
  format.end(session, texts.at(-1) ?? '', call.fail);
  process.exitCode = call.fail === undefined ? 0 : 1;
}

await main();
