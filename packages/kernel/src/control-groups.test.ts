import { afterAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  findControlGroups,
  joining,
  listControlGroups,
  makeControlGroup,
  removeEmptyControlGroups,
} from './control-groups.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'control-groups-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Fakes the kernel's files for a process in group `own` of a version 2 hierarchy. */
function machine(name: string, own: string): { proc: string; mount: string } {
  const mount = path.join(folder, name);
  const inside = path.join(mount, own);
  mkdirSync(inside, { recursive: true });
  for (let each = inside; each.startsWith(mount); each = path.dirname(each)) {
    writeFileSync(path.join(each, 'cgroup.controllers'), 'cpu io memory pids\n');
    writeFileSync(path.join(each, 'cgroup.subtree_control'), '');
  }
  const proc = path.join(folder, `${name}-proc`);
  mkdirSync(proc);
  writeFileSync(path.join(proc, 'cgroup'), `0::${own}\n`);
  writeFileSync(
    path.join(proc, 'mountinfo'),
    `41 31 0:38 / ${mount} rw,relatime shared:9 - cgroup2 cgroup2 rw\n`,
  );
  return { proc, mount };
}

const auto = { plugin_control_groups: 'auto' } as const;
const limits = { memory_bytes: 64 * 1024 * 1024, processes: 20, cpu: 0.5 };
const here = await findControlGroups(auto);
const where: typeof describe.skip = Object.keys(here).length === 3 ? describe : describe.skip;
const why = where === describe ? '' : ' (skipped: this process may make no control groups)';

describe('control groups', () => {
  it('of version 2 bound all three in one folder beside the subgroup of this process', async () => {
    const { proc, mount } = machine('unit', '/system.slice/acp.service/main');
    // The group has processes of its own, so the kernel doesn't let it delegate controllers.
    rmSync(path.join(mount, 'system.slice/acp.service/main/cgroup.subtree_control'));
    mkdirSync(path.join(mount, 'system.slice/acp.service/main/cgroup.subtree_control'));
    const groups = await findControlGroups(auto, proc);
    const unit = path.join(mount, 'system.slice/acp.service');
    const parent = { version: 2, folder: unit };
    expect(groups).toEqual({ memory: parent, pids: parent, cpu: parent });
    const group = await makeControlGroup(groups, 'p-1', limits);
    const own = path.join(unit, 'service-program-p-1');
    const read = (file: string) => readFileSync(path.join(own, file), 'utf8');
    expect(['memory.max', 'memory.swap.max', 'pids.max', 'cpu.max'].map(read)).toEqual([
      '67108864',
      '0',
      '20',
      '50000 100000',
    ]);
    expect(group.joins).toEqual([path.join(own, 'cgroup.procs')]);
    expect(await listControlGroups(groups)).toEqual(['p-1']);
    expect(await group.ranOutOfMemory()).toBe(false);
    writeFileSync(path.join(own, 'memory.events'), 'low 0\noom 1\noom_kill 1\n');
    expect(await group.ranOutOfMemory()).toBe(true);
    const [left, fresh] = ['left', 'fresh'].map((name) => path.join(unit, `service-program-${name}-1`));
    for (const each of [left!, fresh!]) mkdirSync(each);
    utimesSync(left!, 0, 0);
    await removeEmptyControlGroups(groups);
    expect([left!, fresh!].map((each) => existsSync(each))).toEqual([false, true]);
  });

  it('are found though the name of the own one has colons, as those of some container engines', async () => {
    const { proc, mount } = machine('engine', '/kubepods-pod1.slice:cri-containerd:4f2e');
    const parent = { version: 2, folder: path.join(mount, 'kubepods-pod1.slice:cri-containerd:4f2e') };
    expect(await findControlGroups(auto, proc)).toEqual({ memory: parent, pids: parent, cpu: parent });
  });

  it('are found beside the trial of a process that was killed during it and had the same id', async () => {
    const { proc, mount } = machine('killed', '/acp');
    for (const controller of ['memory', 'pids', 'cpu'])
      mkdirSync(path.join(mount, `acp/service-program-trial-${process.pid}-${controller}`));
    expect(Object.keys(await findControlGroups(auto, proc))).toEqual(['memory', 'pids', 'cpu']);
  });

  it('of a process that may make none, or sees none, are none', async () => {
    const { proc, mount } = machine('closed', '/user.slice/session.scope');
    rmSync(path.join(mount, 'user.slice/session.scope'), { recursive: true });
    expect(await findControlGroups(auto, proc)).toEqual({});
    expect(await findControlGroups(auto, path.join(folder, 'nowhere'))).toEqual({});
    expect(await findControlGroups({ plugin_control_groups: 'off' })).toEqual({});
  });
});

where(`control groups of this machine${why}`, () => {
  it('end what takes too much memory, and refuse further processes', async () => {
    const group = await makeControlGroup(here, `test-${process.pid}`, limits);
    const run = async (...command: string[]) => {
      const [program = '', ...args] = joining(group, command);
      const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
      const said: string[] = [];
      child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text));
      const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
      return { code, signal, said: said.join('') };
    };
    // The leftovers would sleep for minutes; removing the group kills them.
    const forks = 'for i in $(seq 40); do sleep 300 2>/dev/null >/dev/null & done';
    expect(await run('/bin/sh', '-c', forks)).toMatchObject({ said: expect.stringMatching(/fork/i) });
    expect(await group.ranOutOfMemory()).toBe(false);
    const hungry = 'const kept = []; for (;;) kept.push(Buffer.alloc(1 << 20, 1));';
    await group.remove();
    const again = await makeControlGroup(here, `test-${process.pid}`, limits);
    expect(await run(process.execPath, '-e', hungry)).toMatchObject({ signal: 'SIGKILL' });
    expect(await again.ranOutOfMemory()).toBe(true);
    await again.remove();
    expect(again.joins.some((file) => existsSync(path.dirname(file)))).toBe(false);
  });
});
