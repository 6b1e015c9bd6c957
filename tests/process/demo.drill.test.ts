import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { processesIn, signalProcessesIn, waitFor } from '@acp/testkit';
import { signIn } from './api.ts';

const script = resolve(import.meta.dirname, '../../apps/launcher/src/demo.ts');

interface Demo {
  kill(signal: NodeJS.Signals): void;
  says(text: string): Promise<unknown>;
  ended: Promise<unknown>;
  output(): string;
  /** Its remaining processes and files. */
  remains(): unknown[];
}

const folders: string[] = [];
let whole: Demo;
let killed: Demo;
let stopped: Demo;

/** Uses its own folder for temporary files, so that leftovers are easy to find. */
async function startDemo(...args: string[]): Promise<Demo> {
  const folder = await mkdtemp(join(tmpdir(), 'acp-demo-'));
  folders.push(folder);
  const env = { PATH: process.env.PATH ?? '', TMPDIR: folder };
  const child = spawn(process.execPath, [script, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  return {
    kill: (signal) => void child.kill(signal),
    says: async (text) =>
      waitFor(() => output.includes(text), { timeout_ms: 90_000, what: `"${text}" in\n${output}` }),
    ended: once(child, 'exit'),
    output: () => output,
    remains: () => [...processesIn(folder), ...readdirSync(folder)],
  };
}

beforeAll(async () => {
  // Started together, as on a machine where port 3100 is taken.
  [whole, killed, stopped] = await Promise.all([startDemo('--exit'), startDemo(), startDemo()]);
});

afterAll(async () => {
  for (const folder of folders) {
    signalProcessesIn(folder, 'SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
});

describe('npm run demo', () => {
  // First, because it would go on with its work beside the other tests.
  it('killed by SIGKILL takes its processes and its home along', async () => {
    await killed.says('Up.');
    killed.kill('SIGKILL');
    expect(await killed.ended).toEqual([null, 'SIGKILL']);
    await waitFor(() => killed.remains().length === 0, { what: 'nothing being left' });
  });

  it('with --exit ends with status 0 once all issues are done, and leaves nothing behind', async () => {
    expect([await whole.ended, whole.output()]).toEqual([[0, null], expect.any(String)]);
    expect(whole.output()).toMatch(
      /Sign in at http:\/\/127\.0\.0\.1:\d+\/login +as +\S+ +with password +\S+/,
    );
    expect(whole.output()).toMatch(/Grace +checks out HAR-\d/);
    expect(whole.output()).toMatch(/HAR-1 todo -> done/);
    expect(whole.output()).toMatch(
      /Ada: [^]*We put a pick-up point on the quay[^]*It stands in \[[^\]]+\]\(\/issues\/[0-9a-f-]+\)/,
    );
    expect(whole.output()).toMatch(
      /knowledge\/index\):\n[^]*Second shop.* We put a pick-up point on the quay/,
    );
    expect(whole.output()).not.toMatch(/failed|refused|error/i);
    await waitFor(() => whole.remains().length === 0);
  });

  it('stays up when its own session is ended, and on SIGTERM takes its processes and its home along', async () => {
    await stopped.says('and still up');
    const [, url, email, password] = /(http\S+)\/login +as +(\S+) +with password +(\S+)/.exec(
      stopped.output(),
    )!;
    const admin = await signIn({ url: url! }, { email: email!, password: password! });
    expect((await admin.send('DELETE', '/api/me/sessions')).status).toBe(204);
    await stopped.says('no longer told here');
    expect((await admin.send('GET', '/api/me')).status).toBe(200);
    stopped.kill('SIGTERM');
    expect(await stopped.ended).toEqual([0, null]);
    await waitFor(() => stopped.remains().length === 0);
  });
});
