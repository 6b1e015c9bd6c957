import { describe, expect, it } from '@jest/globals';
import { readFile, stat } from 'node:fs/promises';
import type { ProgramSpec } from '../task.ts';
import { containerCall, environmentFile } from './container-call.ts';

const container = {
  cli: ['podman', '--root=/x'],
  cli_env: { PATH: '/bin', DOCKER_HOST: 'unix:///engine' },
  image: 'agent:1',
  memory: '2g',
  cpus: 2,
  pids: 512,
  network: 'none',
};
const program: ProgramSpec = {
  command: [],
  home: '/homes/ada',
  cwd: '/homes/ada/work/1',
  env: { PATH: '/host/bin', HOME: '/homes/ada', SERVICE_RUN_ID: 'run-1', SERVICE_API_KEY: 'the-key' },
  timeout_sec: 1,
  session: null,
  container,
};

describe('the call of a container', () => {
  const call = containerCall({
    program,
    container,
    command: ['work', '--fast'],
    run_id: 'run-1',
    stdin: '{}',
  });

  it('shuts the container off but for its home', () => {
    const [image] = [call.command.indexOf('agent:1')];
    expect(call.command.slice(0, 3)).toEqual(['podman', '--root=/x', 'run']);
    expect(call.command.slice(image)).toEqual(['agent:1', 'work', '--fast']);
    expect(call.command).toEqual(
      expect.arrayContaining([
        '--network=none',
        '--read-only',
        '--cap-drop=ALL',
        '--security-opt=no-new-privileges',
        '--memory=2g',
        '--memory-swap=2g',
        '--cpus=2',
        '--pids-limit=512',
        '--volume=/homes/ada:/home/agent',
        '--workdir=/home/agent/work/1',
        '--label=service.run_id=run-1',
      ]),
    );
  });

  it('hands its variables over by their names: no value stands among the arguments', () => {
    expect(call.command).toContain('--env=SERVICE_API_KEY');
    expect(call.command.join(' ')).not.toContain('the-key');
    expect(call.env).toMatchObject({
      SERVICE_API_KEY: 'the-key',
      PATH: '/bin',
      DOCKER_HOST: 'unix:///engine',
    });
    expect(call.command).not.toContain('--env=PATH');
  });
});

describe('the home of a container', () => {
  it('whose path would name another mount is refused', () => {
    const odd = { ...program, home: '/homes/ada:/etc' };
    const call = () => containerCall({ program: odd, container, command: [], run_id: 'run-1', stdin: '' });
    expect(call).toThrow('colon');
  });
});

describe('the file of an agent’s own variables', () => {
  it('is for nobody else’s eyes, and gone afterwards', async () => {
    const file = await environmentFile({ TOKEN: 'secret value', EMPTY: '' });
    expect(await readFile(file.path, 'utf8')).toBe('TOKEN=secret value\nEMPTY=\n');
    expect((await stat(file.path)).mode & 0o777).toBe(0o600);
    await file.remove();
    await expect(stat(file.path)).rejects.toThrow('ENOENT');
  });
});
