import { mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testLogger, waitFor } from '@acp/testkit';
import { DiskWatch } from '../programs/disk-watch.ts';
import { UsageWatch } from './usage-watch.ts';

const MB = 1_000_000;
let top: string;
beforeAll(() => {
  top = realpathSync(mkdtempSync('/var/tmp/programs-on-disk-'));
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

it('a program that has written more than it may keep is ended as soon as the disk is nearly full, and others are not', async () => {
  let [free, looks] = [100 * MB, 0];
  const disk = new DiskWatch({ home: top, workspace_min_free: 20 * MB }, testLogger(), {
    every_ms: 5,
    free: async () => {
      looks += 1;
      return Promise.resolve(free);
    },
  });
  const program = (pid: number) => {
    const killed: string[] = [];
    const workspace = mkdtempSync(path.join(top, 'program-'));
    const kill = async (reason: string) => {
      killed.push(reason);
      return Promise.resolve();
    };
    // What a control group limits is not searched for in /proc.
    return { pid, workspace, killed, kill, grouped: ['memory', 'pids', 'cpu'] as const };
  };
  const [greedy, other] = [program(-1), program(-2)];
  let running = [greedy, other];
  const limits = {
    plugin_cpu_limit: 1,
    plugin_memory_limit: '1g',
    plugin_pids_limit: 10,
    plugin_workspace_limit: 10 * MB,
  };
  const watch = new UsageWatch(limits, () => running, { every: 200, workspace_every: 600_000, disk });
  watch.start();
  await waitFor(() => looks > 2);
  writeFileSync(path.join(greedy.workspace, 'big'), Buffer.alloc(30 * MB, 1));
  writeFileSync(path.join(other.workspace, 'data'), Buffer.alloc(9 * MB, 1));
  free = 5 * MB;
  await waitFor(() => readdirSync(greedy.workspace).length === 0);
  expect(greedy.killed).toEqual([expect.stringMatching(/^it wrote 2\d MB to a disk/)]);
  expect([other.killed, readdirSync(other.workspace)]).toEqual([[], ['data']]);
  running = [];
  // Nothing is looked at any more.
  let seen = -1;
  await waitFor(
    () => {
      const before = seen;
      seen = looks;
      return before === looks;
    },
    { interval_ms: 100 },
  );
  watch.stop();
});
