import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { testLogger, waitFor } from '@acp/testkit';
import { DiskWatch } from './disk-watch.ts';
import { HeldFolder } from './held-folder.ts';

const MB = 1_000_000;
const LIMIT = 20 * MB;
let top: string;
beforeAll(() => {
  top = realpathSync(mkdtempSync('/var/tmp/disk-watch-'));
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

/** A disk with as much free space as the test says, and runs on it, each with one program in a folder of its own. */
function stage() {
  const disk = { free: 100 * MB, looks: 0, free_after_end: undefined as number | undefined };
  const watch = new DiskWatch({ home: top, workspace_min_free: LIMIT }, testLogger(), {
    every_ms: 5,
    free: async () => {
      disk.looks += 1;
      return Promise.resolve(disk.free);
    },
  });
  const begin = async (folder = mkdtempSync(path.join(top, 'run-')), allowed = 0) => {
    const killed: string[] = [];
    const held = await HeldFolder.open(folder);
    const run = watch.open({ run_id: path.basename(folder) }, allowed);
    run.add(held);
    const start = () =>
      run.watch(async (reason) => {
        killed.push(reason);
        disk.free = disk.free_after_end ?? disk.free;
        return Promise.resolve();
      });
    const exit = start();
    const close = async () => {
      exit();
      run.close();
      await held.close();
    };
    const write = (name: string, bytes: number) => {
      mkdirSync(folder, { recursive: true });
      writeFileSync(path.join(folder, name), Buffer.alloc(bytes, 1));
    };
    const has = (name: string) => existsSync(path.join(folder, name));
    return { folder, run, killed, start, exit, close, write, has };
  };
  /** Waits until a look that began after now is over. */
  const looked = async () => {
    const before = disk.looks;
    await waitFor(() => disk.looks > before + 3);
  };
  return { disk, begin, looked };
}

describe('the watch over the disk', () => {
  it('ends the run that has written most, alone, and removes what it wrote', async () => {
    const { disk, begin, looked } = stage();
    const [greedy, modest] = [await begin(), await begin()];
    greedy.write('big', 30 * MB);
    modest.write('result', 5 * MB);
    await looked();
    expect(greedy.killed).toEqual([]);
    disk.free = 15 * MB;
    const why = await waitFor(async () => greedy.run.ended());
    disk.free = 45 * MB;
    expect(why).toMatch(/^it wrote 3\d MB to a disk with less than 20 MB left/);
    expect(greedy.killed).toEqual([why]);
    expect(greedy.has('big')).toBe(false);
    await looked();
    expect([modest.killed, await modest.run.ended(), modest.has('result')]).toEqual([[], null, true]);
    greedy.start();
    expect(greedy.killed).toHaveLength(2);
    await Promise.all([greedy.close(), modest.close()]);
  });

  it('ends none that wrote less than is left, and none that wrote little', async () => {
    const { disk, begin, looked } = stage();
    const run = await begin();
    run.write('some', 8 * MB);
    disk.free = 15 * MB;
    await looked();
    expect(run.killed).toEqual([]);
    disk.free = 7 * MB;
    await waitFor(() => run.killed.length > 0);
    await run.close();
    const little = await begin();
    little.write('note', MB / 2);
    disk.free = 0;
    await looked();
    expect(little.killed).toEqual([]);
    await little.close();
  });

  it('does not look while no program runs, and lets a run alone whose program has ended', async () => {
    const { disk, begin, looked } = stage();
    const [done, other] = [await begin(), await begin()];
    done.write('big', 30 * MB);
    done.exit();
    disk.free = 10 * MB;
    await looked();
    expect([done.killed, done.has('big')]).toEqual([[], true]);
    await Promise.all([done.close(), other.close()]);
    const before = disk.looks;
    const another = stage();
    const run = await another.begin();
    await another.looked();
    await run.close();
    expect(disk.looks).toBe(before);
  });

  it('removes nothing from a home in which another run of the agent is at work', async () => {
    const { disk, begin } = stage();
    const first = await begin();
    const second = await begin(first.folder);
    first.write('big', 30 * MB);
    // Otherwise the next look might end the other one, too.
    disk.free_after_end = 100 * MB;
    disk.free = 10 * MB;
    const ended = await waitFor(async () => {
      const [one, two] = [await first.run.ended(), await second.run.ended()];
      return one === null ? (two === null ? undefined : second) : first;
    });
    expect(first.has('big')).toBe(true);
    const left = ended === first ? second : first;
    await ended.close();
    disk.free = 5 * MB;
    await waitFor(async () => (await left.run.ended()) !== null);
    expect(first.has('big')).toBe(false);
    await left.close();
  });

  it('ends a program only for what it wrote beyond what it may keep, and leaves it that much', async () => {
    const { disk, begin, looked } = stage();
    const plugin = await begin(undefined, 20 * MB);
    plugin.write('data', 18 * MB);
    disk.free = 3 * MB;
    await looked();
    expect(plugin.killed).toEqual([]);
    plugin.write('more', 10 * MB);
    disk.free = 0;
    await waitFor(async () => (await plugin.run.ended()) !== null);
    expect([plugin.has('data'), plugin.has('more')]).toEqual([false, true]);
    await plugin.close();
  });

  it('counts files that were removed but are still open', async () => {
    const { disk, begin } = stage();
    const run = await begin();
    const { spawn } = await import('node:child_process');
    const script = `exec 3>big; rm big; head -c ${30 * MB} /dev/zero >&3; echo done; exec sleep 1000`;
    const child = spawn('/bin/sh', ['-c', script], {
      cwd: run.folder,
      env: { PATH: process.env.PATH, SERVICE_RUN_ID: path.basename(run.folder) },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      await new Promise((resolve) => child.stdout.once('data', resolve));
      disk.free = 10 * MB;
      expect(await waitFor(async () => run.run.ended())).toMatch(/^it wrote 3\d MB/);
    } finally {
      child.kill('SIGKILL');
      await run.close();
    }
  });
});
