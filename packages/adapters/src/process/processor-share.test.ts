import { afterEach, expect, it } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { waitFor } from '@acp/testkit';
import { ProcessorShare } from './processor-share.ts';
import { usageBelow } from './tree-usage.ts';

const children: ChildProcess[] = [];

afterEach(() => {
  for (const { pid } of children.splice(0)) process.kill(-pid!, 'SIGKILL');
});

/** A shell with a child that spins or sleeps. */
function start(work: string): number {
  const child = spawn('/bin/sh', ['-c', `${work} & wait`], { stdio: 'ignore', detached: true });
  children.push(child);
  return child.pid!;
}

/** True if the whole tree is stopped, false if none of it is. */
async function halted(root: number): Promise<boolean | undefined> {
  const { pids = [] } = (await usageBelow([root], Infinity)).get(root) ?? {};
  const states = await Promise.all(pids.map(async (pid) => readFile(`/proc/${pid}/stat`, 'latin1')));
  const stopped = states.filter((text) => text.slice(text.lastIndexOf(')')).startsWith(') T')).length;
  if (stopped === 0) return false;
  return stopped === pids.length ? true : undefined;
}

const look = async (share: ProcessorShare, root: number) =>
  share.look(root, (await usageBelow([root], Infinity)).get(root)!);

it('a tree of processes that takes more than its share is halted as a whole, told so once, and goes on', async () => {
  const share = new ProcessorShare(0.05);
  const root = start('while :; do :; done');
  let told = 0;
  const looks = async () => {
    if (await look(share, root)) told += 1;
    return halted(root);
  };
  // Each check reads all of /proc.
  const until = async (done: () => Promise<boolean>, what: string) =>
    waitFor(done, { what, interval_ms: 100 });
  await until(async () => (await looks()) === true, 'it to be halted');
  await until(async () => (await halted(root)) === false, 'it to go on');
  await until(async () => (await looks()) === true, 'it to be halted again');
  expect(told).toBe(1);
  share.close();
  await until(async () => (await halted(root)) === false, 'it to go on at the end');
});

it('one that does little is left alone', async () => {
  const share = new ProcessorShare(0.05);
  const root = start('sleep 60');
  for (let n = 0; n < 20; n += 1) {
    expect(await look(share, root)).toBe(false);
    expect(await halted(root)).toBe(false);
  }
  share.close();
});
