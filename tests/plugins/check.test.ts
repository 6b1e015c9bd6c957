import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { matchesPattern } from '@acp/contract';
import { checkPlugin, type CheckOptions } from '../../scripts/plugin/check/check.ts';
import { matches } from '@acp/plugin-sdk';
import { create } from '../../scripts/plugin/new.ts';

const examples = resolve(import.meta.dirname, '../../examples/plugins');
const python = await promisify(execFile)('python3', ['-c', 'import sqlite3']).then(
  () => true,
  () => false,
);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plugins-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function check(binary: string, options: Partial<CheckOptions> = {}) {
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const status = await checkPlugin(binary, {
    config: null,
    grants: [],
    secrets: {},
    inputs: {},
    network: false,
    say,
    ...options,
  });
  return { status, text: lines.join('\n') };
}

/** Creates a plugin in plain Node that misbehaves in one respect. */
async function misbehaving(name: string, instead: string): Promise<string> {
  const file = join(folder, name);
  const source = `#!${process.execPath}
const send = (type, payload = {}) => process.stdout.write(JSON.stringify({ type, payload }) + '\\n');
const tool = { name: 'a', namespace: 'n', description: '', input_schema: { type: 'object' } };
let manifest = { name: 'x', tools: [tool], jobs: [{ name: 'j', schedule: '0 * * * *' }] };
const on = {
  init: () => send('ready', { manifest }),
  health_check: () => send('health_check'),
  invoke_tool: ({ tool, request_id }) =>
    send('tool_result', { request_id, result: null, error: tool === 'a' ? null : 'no' }),
  run_job: ({ job_name }) => send('job_result', { job_name }),
  shutdown: () => process.exit(0),
};
${instead}
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  let message;
  try { message = JSON.parse(line); } catch { return; }
  on[message.type]?.(message.payload);
});
`;
  await writeFile(file, source);
  await chmod(file, 0o755);
  return file;
}

const withPython: typeof describe.skip = python ? describe : describe.skip;
const why = python ? '' : ' (skipped: no python3 with sqlite3)';

withPython(`the example in Python${why}`, () => {
  it('has nothing wrong', async () => {
    const { status, text } = await check(join(examples, 'digest/digest.py'));
    expect(text).toContain('Nothing is wrong.');
    expect(text).toMatch(/ok +report answers/);
    expect(status).toBe(0);
  });
});

describe('the check of plugins', () => {
  it('finds nothing wrong with a plugin that was just made', async () => {
    const binary = await create(join(folder, 'fresh-one'));
    const { status, text } = await check(binary);
    expect(text).toContain('Nothing is wrong.');
    expect(text).toMatch(/ok +greet answers \{"name":/);
    expect(status).toBe(0);
    await expect(create(join(folder, 'fresh-one'))).rejects.toThrow('is not empty');
    await expect(create(join(folder, 'Bad Name'))).rejects.toThrow('small letters');
    expect(await readdir(join(folder, 'fresh-one'))).toContain('tsconfig.json');
  });

  it('finds nothing wrong with a plugin that knows no more than the specification', async () => {
    const instead = `
manifest.tools = [{ name: 'a', namespace: 'n' }, { name: 'a', namespace: 'm' }];
manifest.webhooks = [{ path: '/incoming' }];
on.health_check = () => {
  send('log', { level: 'WARNING', message: 'x' });
  send('host_request', { service: 'log', args: { message: 'x' }, request_id: 1 });
  send('pong');
};
on.invoke_tool = ({ tool, request_id }) =>
  send('tool_result', { request_id, result: {}, error: tool === 'a' ? '' : 'no' });
on.run_job = ({ job_name }) => send('job_result', { job_name, result: {}, error: '' });`;
    const { status, text } = await check(await misbehaving('by-the-book', instead));
    expect(text).toContain('Nothing is wrong.');
    expect(text).not.toContain('error:');
    expect(status).toBe(0);
  });

  it.each([
    [
      'prints what is no message',
      `on.init = () => { console.log('hello'); send('ready', { manifest }); };`,
      'no JSON',
    ],
    [
      'answers twice',
      `on.invoke_tool = (p) => { for (let n = 0; n < 2; n++) send('tool_result', { request_id: p.request_id }); };`,
      'more than once',
    ],
    ['has two tools of a name', 'manifest.tools = [tool, tool];', 'two tools named n:a'],
    ['has a bad schedule', `manifest.jobs[0].schedule = 'often';`, 'schedule of j'],
    ['has a manifest of another shape', 'manifest = { tools: 7 };', 'ready: payload'],
    [
      'does not answer what it asked for',
      `on.init = () => send('error', { message: 'no database' });`,
      'it failed: no database',
    ],
    [
      'dies of wrong input',
      `on.invoke_tool = ({ input, request_id }) => { input.length.x; };`,
      'it ended with exit status 1',
    ],
    [
      'asks the host wrongly',
      `on.health_check = () => { send('host_request', { service: 'http_fetch', args: { url: 7 }, request_id: 'r' }); send('health_check'); };`,
      'asked the host wrongly',
    ],
    [
      'asks the host so that it cannot answer',
      `on.health_check = () => { send('host_request', { service: 'kv' }); send('health_check'); };`,
      'without a request_id',
    ],
    [
      'writes a line that is too long',
      `on.run_job = () => send('log', { level: 'info', message: 'x'.repeat(2e6) });`,
      'longer than 1048576',
    ],
  ])('says of a plugin that %s what is wrong, and exits with 1', async (name, instead, said) => {
    const { status, text } = await check(await misbehaving(name.replaceAll(' ', '-'), instead));
    expect(text).toMatch(/^WRONG/m);
    expect(text).toContain(said);
    expect(status).toBe(1);
  });

  it('refuses what is no executable file', async () => {
    expect(await check(folder)).toMatchObject({ status: 1 });
  });
});

it('patterns of events match in the SDK as they do in the host', () => {
  for (const pattern of ['*', 'issue.*', '*.created', 'issue.*.done', 'issue.created', 'issue'])
    for (const type of ['issue.created', 'issue.review.done', 'agent.created', 'issue'])
      expect(matches(pattern, type)).toBe(matchesPattern(pattern, type));
});
