// Stands in for the two CLIs that agents run: `node fake-cli.ts a|b --fake=<script.json> …`. Speaks their output
// formats, keeps sessions in its home, and misbehaves on command. Run as a program; only its types are imported.

import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** What one call does, in this order. The last call of the script repeats. */
export interface FakeCliCall {
  /** The agent's messages, with a tool call between each two. Default `["ok"]`. */
  texts?: string[];
  /** Usage of the model call behind each message. */
  usage?: { input?: number; cached?: number; output?: number; cost_usd?: number };
  /** Shell commands run in its working folder, as one of the model's tools would run them. */
  sh?: string;
  /** Prints lines that are not JSON, or that no parser knows. */
  garbage?: boolean;
  /** Lines printed verbatim before its own. */
  raw?: string[];
  /** Session id to use instead of a generated one. */
  session_id?: string;
  /** Starts a program in its own session, which keeps running when everything else exits. */
  stray?: boolean;
  /** Never exits by itself after its messages; `stubborn` ignores even SIGTERM. */
  hang?: 'polite' | 'stubborn';
  /** Fails with the response that the model's endpoint supposedly sent. */
  fail?: { status: number; message: string };
  /** Exits immediately with this code and text on standard error. */
  crash?: { code: number; stderr: string };
}

export interface FakeCliScript {
  calls: FakeCliCall[];
}

/** A line of `$HOME/fake-cli.jsonl`. */
export interface FakeCliJournal {
  args: string[];
  cwd: string;
  env: Record<string, string>;
  stdin: string;
  pid: number;
  stray_pid: number | null;
}

interface Totals {
  input: number;
  cached: number;
  output: number;
  cost: number;
}

const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function readAll(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function loadSession(id: string): Totals | undefined {
  const file = join(homedir(), '.fake-sessions', id);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Totals) : undefined;
}

function saveSession(id: string, totals: Totals): void {
  const folder = join(homedir(), '.fake-sessions');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, id), JSON.stringify(totals));
}

function startStray(): number {
  // It inherits the output, so anyone waiting for end of file on it waits for this process too.
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  child.unref();
  return child.pid ?? 0;
}

interface Session {
  id: string;
  before: Totals;
  now: Totals;
}

const formats = {
  a: {
    unknown(id: string) {
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
    begin({ id }: Session) {
      say({
        type: 'system',
        subtype: 'init',
        session_id: id,
        model: 'fake-a',
        tools: ['Bash'],
        cwd: process.cwd(),
      });
    },
    message({ id }: Session, text: string, index: number, used: Totals) {
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
    tool({ id }: Session, index: number) {
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
    end({ id, before, now }: Session, text: string, fail: FakeCliCall['fail']) {
      const used = (field: keyof Totals) => now[field] - before[field];
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
    unknown(id: string) {
      process.stderr.write(`Error: no rollout found for thread id ${id}\n`);
    },
    begin({ id }: Session) {
      say({ type: 'thread.started', thread_id: id });
      say({ type: 'turn.started' });
    },
    message(_: Session, text: string, index: number) {
      say({ type: 'item.completed', item: { id: `item_${index}`, type: 'agent_message', text } });
    },
    tool(_: Session, index: number) {
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
    end({ now }: Session, _text: string, fail: FakeCliCall['fail']) {
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

function resumedId(kind: 'a' | 'b', args: string[]): string | undefined {
  if (kind === 'b') return args.includes('resume') ? args[args.indexOf('resume') + 1] : undefined;
  return args.find((arg) => arg.startsWith('--resume='))?.slice('--resume='.length);
}

async function main(): Promise<void> {
  const [kind, fake = '', ...args] = process.argv.slice(2);
  if (kind !== 'a' && kind !== 'b') throw new Error('a or b?');
  const script = JSON.parse(readFileSync(fake.replace('--fake=', ''), 'utf8')) as FakeCliScript;
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

async function play(kind: 'a' | 'b', call: FakeCliCall, resumed: string | undefined): Promise<void> {
  const format = formats[kind];
  const before = resumed === undefined ? { input: 0, cached: 0, output: 0, cost: 0 } : loadSession(resumed);
  if (before === undefined) {
    format.unknown(resumed ?? '');
    process.exitCode = 1;
    return;
  }
  const session: Session = { id: call.session_id ?? resumed ?? randomUUID(), before, now: { ...before } };
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

if (import.meta.main) await main();
