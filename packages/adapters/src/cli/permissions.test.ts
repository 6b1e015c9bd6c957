import { describe, expect, it } from '@jest/globals';
import type { ContainerSpec, ProgramSpec, SandboxSpec } from '../task.ts';
import type { CliCall } from './cli-dialect.ts';
import { dialectA } from './dialect-a.ts';
import { dialectB } from './dialect-b.ts';
import { permissionsOf } from './execute-cli.ts';

const host: ProgramSpec = {
  command: [],
  home: '/h',
  cwd: '/h',
  env: {},
  timeout_sec: 1,
  session: null,
  container: null,
};
const walled = { ...host, sandbox: {} as SandboxSpec };
const contained = { ...host, container: {} as ContainerSpec };

describe('what a CLI may do without asking', () => {
  it.each([
    ['walls', walled, {}, 'commands'],
    ['walls', walled, { permissions: 'edit' }, 'edit'],
    ['walls', walled, { permissions: 'read' }, 'read'],
    ['walls', walled, { allow_dangerous_permissions: true }, 'all'],
    ['walls', walled, { allow_dangerous_permissions: false }, 'edit'],
    ['no walls', host, {}, 'edit'],
    ['no walls', host, { permissions: 'commands' }, 'edit'],
    ['no walls', host, { permissions: 'read' }, 'read'],
    ['no walls', host, { allow_dangerous_permissions: true }, 'all'],
    ['a container', contained, {}, 'all'],
    ['a container', contained, { permissions: 'read' }, 'read'],
    ['a container', contained, { allow_dangerous_permissions: false }, 'edit'],
  ])('with %s: %j %j is %s', (_where, program, config, permissions) => {
    expect(permissionsOf(config, program)).toBe(permissions);
  });

  it('is said in each one’s own switches', () => {
    const call: CliCall = {
      model: null,
      resume: null,
      permissions: 'commands',
      walled: true,
      temp_dir: '/t',
      prompt_length: 1,
      retries: 1,
    };
    expect(dialectA.arguments(call)).toEqual(
      expect.arrayContaining(['--permission-mode=acceptEdits', '--allowedTools=Bash']),
    );
    expect(dialectA.arguments({ ...call, permissions: 'edit' })).not.toContain('--allowedTools=Bash');
    expect(dialectA.arguments({ ...call, permissions: 'read' })).toContain(
      '--disallowedTools=Bash,Edit,Write,NotebookEdit',
    );
    const bypass = '--dangerously-bypass-approvals-and-sandbox';
    expect(dialectB.arguments(call)).toContain(bypass);
    expect(dialectB.arguments({ ...call, walled: false, permissions: 'edit' })).toContain(
      '--sandbox=workspace-write',
    );
    expect(dialectB.arguments({ ...call, walled: false, permissions: 'read' })).toContain(
      '--sandbox=read-only',
    );
    expect(dialectB.arguments({ ...call, walled: false })).not.toContain(bypass);
  });
});
