import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { findProgram, readText, readUnit, root } from './files.ts';

const analyze = findProgram('systemd-analyze');
const withSystemd: typeof describe.skip = analyze === undefined ? describe.skip : describe;
const why = analyze === undefined ? ' (skipped: no systemd-analyze)' : '';
const unitOf = (tier: string) => `agent-control-plane-${tier}.service`;

withSystemd(`each unit, judged by systemd itself${why}`, () => {
  it.each(['web', 'scheduler', 'worker'])('of the %s is taken without a warning', (tier) => {
    const file = `deploy/systemd/${unitOf(tier)}`;
    const folder = mkdtempSync(path.join(tmpdir(), 'acp-units-'));
    const unit = path.join(folder, unitOf(tier));
    // The one path that must exist.
    writeFileSync(
      unit,
      readText(file).replace('/opt/agent-control-plane/node_modules', path.join(root, 'node_modules')),
    );
    const { stdout, stderr } = spawnSync(analyze!, ['verify', '--man=no', unit], { encoding: 'utf8' });
    rmSync(folder, { recursive: true, force: true });
    // It may also complain about the machine's own units.
    const complaints = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line.includes('agent-control-plane'))
      // A systemd before 254 works without it, as the unit says.
      .filter((line) => !line.includes("'DelegateSubgroup'"));
    expect(complaints).toEqual([]);
  });
});

describe.each(['web', 'scheduler', 'worker'])('the unit of the %s', (tier) => {
  const file = `deploy/systemd/${unitOf(tier)}`;

  it('starts the service from a checkout, with the Node.js that the lock file names', () => {
    const unit = readUnit(file);
    const [node, ...args] = unit.get('ExecStart')![0]!.split(' ');
    const [main, ...rest] = args.filter((arg) => !arg.startsWith('--max-semi-space-size='));
    const checkout = unit.get('WorkingDirectory')![0]!;
    expect(path.relative(checkout, node!)).toBe('node_modules/.bin/node');
    expect([existsSync(path.join(root, main!)), rest]).toEqual([true, []]);
    // sysexits' EX_CONFIG, with which processes exit on an unusable environment; and a worker's EX_NOPERM.
    expect(unit.get('RestartPreventExitStatus')).toEqual([tier === 'worker' ? '77 78' : '78']);
    expect(unit.get('NoNewPrivileges')).toEqual(['true']);
    expect(unit.get('ProtectSystem')).toEqual(['strict']);
  });
});

it.each(['scheduler', 'worker'])('the %s outlives a program that the kernel ends for its memory', (tier) => {
  const unit = readUnit(`deploy/systemd/${unitOf(tier)}`);
  // The default of a unit with `Delegate`, systemd.service(5).
  const inherent = unit.has('Delegate') ? ['continue'] : undefined;
  expect(unit.get('OOMPolicy') ?? inherent).toEqual(['continue']);
});
