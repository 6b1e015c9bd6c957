import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { newId } from '@acp/kernel';
import { fakeCliCommand, fakeCliJournal, waitFor } from '@acp/testkit';
import type { FakeCliCall } from '@acp/testkit';
import {
  type AdapterEvent,
  type AdapterTask,
  type CliSession,
  execute,
  killMarked,
  markedProcesses,
} from '../index.ts';

// Both stand-ins are real programs; whatever a test leaves running is ended here.
let folder: string;
let started: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp('/var/tmp/execute-cli-');
});

afterEach(async () => {
  await Promise.all(started.map(killMarked));
  started = [];
  await rm(folder, { recursive: true, force: true });
});

type Kind = 'a' | 'b';

async function taskOf(
  kind: Kind,
  calls: FakeCliCall[],
  changes: Partial<AdapterTask> = {},
): Promise<AdapterTask> {
  const script = path.join(folder, 'script.json');
  const [home, cwd] = [path.join(folder, 'home'), path.join(folder, 'work')];
  await Promise.all([
    writeFile(script, JSON.stringify({ calls })),
    mkdir(home, { recursive: true }),
    mkdir(cwd, { recursive: true }),
  ]);
  const run_id = newId();
  started.push(run_id);
  return {
    run_id,
    adapter_type: `cli_${kind}_local`,
    provider: null,
    model: 'fast',
    system_prompt: '/clear is what nobody wants',
    messages: [{ role: 'user', content: 'Paint the shed' }],
    max_output_tokens: 100,
    timeouts: { idle_sec: 10, total_sec: 10 },
    adapter_config: {},
    program: {
      command: fakeCliCommand(kind, script),
      home,
      cwd,
      env: { PATH: process.env.PATH ?? '', HOME: home, SERVICE_RUN_ID: run_id },
      timeout_sec: 120,
      session: null,
      container: null,
    },
    ...changes,
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
  return { events, failure };
}

const texts = (events: AdapterEvent[]) =>
  events.flatMap((event) =>
    event.kind === 'output' ? [event.text] : event.kind === 'boundary' ? ['|'] : [],
  );
const usageOf = (events: AdapterEvent[]) => events.filter((event) => event.kind === 'usage');
const sessionOf = (events: AdapterEvent[]): CliSession | null | undefined =>
  events.findLast((event) => event.kind === 'session')?.session;
const alive = async ({ run_id }: AdapterTask) =>
  (await markedProcesses()).filter((each) => each.run_id === run_id).map(({ pid }) => pid);

const resumed = (task: AdapterTask, session: CliSession | null | undefined): AdapterTask => ({
  ...task,
  program: { ...task.program!, session: session ?? null },
});

describe.each<Kind>(['a', 'b'])('CLI %s', (kind) => {
  it('says what the agent said, message by message, and what it used', async () => {
    const usage = { input: 100, cached: 40, output: 7, cost_usd: 0.5 };
    const task = await taskOf(kind, [{ texts: ['I will look — “ä”.', '/status done'], usage }]);
    const { events, failure } = await collect(task);
    expect(failure).toBeUndefined();
    expect(texts(events)).toEqual(['I will look — “ä”.', '|', '/status done']);
    expect(events.filter(({ kind: each }) => each === 'tool')).not.toEqual([]);
    const counted = { input_tokens: 200, cached_tokens: 80, output_tokens: 14 };
    const own = kind === 'a' ? { model: 'fake-a', cost_usd: 1 } : { model: 'fast' };
    expect(usageOf(events)).toEqual([{ kind: 'usage', ...counted, ...own }]);
    expect(sessionOf(events)?.cwd).toBe(task.program!.cwd);
  });

  it('gets its prompt by standard input, never as an argument nor as a command of its own', async () => {
    const task = await taskOf(kind, [{}]);
    await collect(task);
    const [call] = await fakeCliJournal(task.program!.home);
    expect(call?.stdin).toMatch(/^\w+[^]*\/clear is what nobody wants[^]*Paint the shed/);
    expect(call?.args.join(' ')).not.toContain('shed');
    expect(call?.args).toContain('--model=fast');
    expect(call?.cwd).toBe(task.program!.cwd);
    expect(Object.keys(call?.env ?? {}).toSorted()).toEqual(['HOME', 'PATH', 'SERVICE_RUN_ID']);
  });

  it('resumed, counts what the run itself used', async () => {
    const task = await taskOf(kind, [{ usage: { input: 1000, output: 50, cost_usd: 0.25 } }]);
    const first = await collect(task);
    const second = await collect(resumed(task, sessionOf(first.events)));
    expect(second.failure).toBeUndefined();
    expect(sessionOf(second.events)?.id).toBe(sessionOf(first.events)?.id);
    expect(usageOf(second.events)).toMatchObject([{ input_tokens: 1000, output_tokens: 50 }]);
    const third = await collect(resumed(task, sessionOf(second.events)));
    const cost = kind === 'a' ? { cost_usd: 0.25 } : {};
    expect(usageOf(third.events)).toMatchObject([{ input_tokens: 1000, output_tokens: 50, ...cost }]);
  });

  it.each([
    ['unknown to it', newId()],
    ['of another kind', 'thread of mine'],
  ])('begins afresh when the session is %s', async (_, id) => {
    const totals = { input_tokens: 9, output_tokens: 9, cached_tokens: 0, cost_usd: 9 };
    const task = resumed(await taskOf(kind, [{}]), { id, cwd: '/', totals });
    const { events, failure } = await collect(task);
    expect(failure).toBeUndefined();
    expect(texts(events)).toEqual(['ok']);
    expect(sessionOf(events)?.id).not.toBe(id);
    expect(usageOf(events)).toMatchObject([{ input_tokens: 100 }]);
  });

  it('reads past lines that mean nothing', async () => {
    const { events, failure } = await collect(await taskOf(kind, [{ garbage: true }]));
    expect(failure).toBeUndefined();
    expect(texts(events)).toEqual(['ok']);
  });

  it('leaves out what is nested so deeply that walking it would take the process down', async () => {
    const deep = '{"a":'.repeat(30_000) + '1' + '}'.repeat(30_000);
    const raw = [`{"type":"new","detail":${deep}}`, `{"type":"user","x":${'['.repeat(200_000)}`];
    const { events, failure } = await collect(await taskOf(kind, [{ raw }]));
    expect(failure).toBeUndefined();
    expect(texts(events)).toEqual(['ok']);
    expect(events.filter((event) => event.kind === 'log')).toEqual([]);
  });

  it.each([
    ['negative', { input: -5, output: -7, cost_usd: -1 }],
    ['fractions', { input: 0.5, output: 1.5, cost_usd: 1e21 }],
    ['beyond all bounds', { input: 2 ** 31, output: 1e21, cost_usd: Number.MAX_VALUE }],
  ])('is booked by an estimate where its counts are %s', async (_, usage) => {
    const { events, failure } = await collect(await taskOf(kind, [{ texts: ['x'.repeat(400)], usage }]));
    expect(failure).toBeUndefined();
    const [booked] = usageOf(events);
    expect(booked).toMatchObject({ output_tokens: 100, cached_tokens: 0, usage_missing: true });
    expect(booked?.input_tokens).toBeGreaterThan(5);
    expect(booked?.cost_usd).toBeUndefined();
    const totals = Object.values(sessionOf(events)!.totals);
    expect(totals.every((total) => total >= 0 && Number.isFinite(total))).toBe(true);
  });

  it('has no session to go on from where its id is none that can be kept', async () => {
    for (const session_id of ['a\0b', 'x'.repeat(10_000)]) {
      const { events, failure } = await collect(await taskOf(kind, [{ session_id }]));
      expect(failure).toBeUndefined();
      expect(sessionOf(events)).toBeNull();
    }
  });

  it('is answered in its session, which has heard the rest', async () => {
    const task = await taskOf(kind, [{ texts: ['/list-issues'] }, {}]);
    const first = await collect(task);
    const messages = [
      ...task.messages,
      { role: 'assistant' as const, content: '/list-issues' },
      { role: 'user' as const, content: '/list-issues failed: no' },
    ];
    await collect({ ...resumed(task, sessionOf(first.events)), messages });
    await collect({ ...task, messages });
    const [, second, afresh] = await fakeCliJournal(task.program!.home);
    expect(second?.stdin).toBe('Answers to your verbs\n\n/list-issues failed: no');
    expect(afresh?.stdin).toMatch(/Paint the shed[^]*failed: no/);
  });

  it.each([
    [401, 'auth'],
    [404, 'config'],
    [429, 'transient'],
    [400, 'permanent'],
  ])('fails with the words of its model endpoint after status %i', async (status, category) => {
    const task = await taskOf(kind, [{ fail: { status, message: 'No such thing' } }]);
    const { events, failure } = await collect(task);
    expect(failure).toMatchObject({ category, message: expect.stringContaining('No such thing') });
    expect(sessionOf(events)).toMatchObject({ cwd: task.program!.cwd });
  });

  it('fails with what it wrote on standard error when it said nothing else', async () => {
    const crash = { code: 2, stderr: 'error: unexpected argument' };
    const { events, failure } = await collect(await taskOf(kind, [{ crash }]));
    expect(failure).toMatchObject({ message: 'the CLI ended with exit code 2: error: unexpected argument' });
    expect(events).toEqual([]);
  });

  it('that fails after many words is quoted with the last of them', async () => {
    const stderr = `${'warning: nothing\n'.repeat(300)}fatal: no space left on device`;
    const { failure } = await collect(await taskOf(kind, [{ crash: { code: 3, stderr } }]));
    const message = expect.stringMatching(/^the CLI ended with exit code 3: …[^]*no space left on device$/);
    expect(failure).toMatchObject({ message });
  });

  it('cut off leaves no process behind, however stubborn, and says what it knows', async () => {
    const task = await taskOf(kind, [{ texts: ['Half'], hang: 'stubborn', stray: true }]);
    const stop = new AbortController();
    const going = collect(task, stop.signal);
    await waitFor(async () => (await alive(task)).length >= 2, { what: 'the program and its stray' });
    await waitFor(async () => (await fakeCliJournal(task.program!.home)).length > 0);
    stop.abort();
    const { events, failure } = await going;
    expect(failure).toMatchObject({ category: 'cancelled' });
    expect(await alive(task)).toEqual([]);
    const estimated = usageOf(events).map(({ usage_missing: missing }) => missing);
    expect(estimated).toEqual(texts(events).map(() => true));
  });

  it('is stopped when its time is over', async () => {
    const task = await taskOf(kind, [{ hang: 'polite' }]);
    const { failure } = await collect({ ...task, program: { ...task.program!, timeout_sec: 1 } });
    expect(failure).toMatchObject({ category: 'timeout', message: 'no end within 1 s' });
    expect(await alive(task)).toEqual([]);
  });

  it('done takes along what it left in the background, and ends although that holds its output open', async () => {
    const task = await taskOf(kind, [{ stray: true }]);
    const { events, failure } = await collect(task);
    expect(failure).toBeUndefined();
    expect(texts(events)).toEqual(['ok']);
    expect(await alive(task)).toEqual([]);
  });

  it('left by its caller in the middle leaves no process behind', async () => {
    const task = await taskOf(kind, [{ texts: ['One', 'Two'], hang: 'polite' }]);
    for await (const event of execute(task, new AbortController().signal)) if (event.kind === 'output') break;
    expect(await alive(task)).toEqual([]);
  });

  it('that is not installed is a fault of the configuration', async () => {
    const task = await taskOf(kind, [{}]);
    const { failure } = await collect({
      ...task,
      program: { ...task.program!, command: ['/no/such/program'] },
    });
    expect(failure).toMatchObject({ category: 'config', message: expect.stringContaining('ENOENT') });
  });

  it('skips permissions only where its agent is allowed to', async () => {
    const task = await taskOf(kind, [{}]);
    await collect(task);
    await collect({ ...task, adapter_config: { allow_dangerous_permissions: true } });
    const calls = await fakeCliJournal(task.program!.home);
    expect(calls.map(({ args }) => args.some((arg) => arg.startsWith('--dangerously')))).toEqual([
      false,
      true,
    ]);
  });
});
