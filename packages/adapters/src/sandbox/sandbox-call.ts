import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bubblewrapGround, bubblewrapLimits, repositoryRoot } from '@acp/kernel';
import { makeProgramGroup } from '../process/program-group.ts';
import { makeRunFolder } from '../process/run-folder.ts';
import type { ProgramCall } from '../process/run-program.ts';
import type { ProgramSpec, SandboxSpec } from '../task.ts';
import { type EgressProxy, startEgressProxy } from './egress-proxy.ts';
import { proxyVariables } from './proxy-variables.ts';
import { visibleFiles } from './visible-files.ts';

/** Path inside the sandbox. */
const OWN = '/run/service';
const PROXY_PORT = 3128;
const TEMP_BYTES = 1024 * 1024 * 1024;
/** As containers have. Bubblewrap's own is half of the machine's memory, of which no watch of processes sees anything. */
const SHARED_BYTES = 64 * 1024 * 1024;
const INSIDE = join(repositoryRoot, 'packages/adapters/src/sandbox/inside.cjs');

/**
 * The same program inside bubblewrap: it sees, read-only, what it needs to run, and its agent's home; no processes but its own
 * and no network but the proxy's socket. Its environment is unchanged except for the proxy variables.
 */
export function sandboxCall(call: ProgramCall, program: ProgramSpec, sandbox: SandboxSpec): ProgramCall {
  const { mounts, command, search } = visibleFiles(call.command, call.env.PATH, sandbox);
  const { workspace } = program;
  let proxy: EgressProxy | undefined;
  let folder: string | undefined;
  let group: Awaited<ReturnType<typeof makeProgramGroup>>;
  return {
    ...call,
    cwd: '/',
    limits: sandbox.limits,
    env: { ...call.env, ...proxyVariables(PROXY_PORT), PATH: search.join(':'), TMPDIR: '/tmp' },
    prepare: async (signal) => {
      await call.prepare?.(signal);
      folder = await makeRunFolder(call.run_id);
      await writeNameFiles(folder, program.home);
      await writeFile(join(folder, 'env'), JSON.stringify(program.own_env ?? {}), { mode: 0o600 });
      proxy = await startEgressProxy(join(folder, 'egress'), sandbox.reach);
      const settings = {
        folders: [
          { path: program.home, identity: program.home_identity ?? null, name: 'the agent’s home' },
          ...(workspace === undefined ? [] : [{ ...workspace, name: 'the workspace' }]),
        ].map(({ path, identity, name }) => ({ path, identity, name })),
        socket: `${OWN}/egress`,
        env: `${OWN}/env`,
        proxy_port: PROXY_PORT,
        loopback: sandbox.loopback,
      };
      const inside = [process.execPath, `${OWN}/inside.cjs`];
      const config = { plugin_control_groups: sandbox.control_groups };
      group = await makeProgramGroup(`run-${call.run_id}`, config, sandbox.limits);
      const inWalls = [
        sandbox.bubblewrap,
        ...bubblewrapGround({ hostname: 'sandbox', temp_bytes: TEMP_BYTES }),
        '--size',
        String(SHARED_BYTES),
        '--tmpfs',
        '/dev/shm',
        '--remount-ro',
        '/dev',
        ...mounts,
        ...names.flatMap((name) => ['--ro-bind', join(folder!, name), `/etc/${name}`]),
        '--ro-bind',
        join(folder, 'egress'),
        `${OWN}/egress`,
        '--ro-bind',
        join(folder, 'env'),
        `${OWN}/env`,
        '--ro-bind',
        INSIDE,
        `${OWN}/inside.cjs`,
        '--bind',
        program.home,
        program.home,
        ...(workspace === undefined
          ? []
          : [program.read_only === true ? '--ro-bind' : '--bind', workspace.path, workspace.path]),
        ...(workspace?.readable ?? []).flatMap((path) => ['--ro-bind', path, path]),
        '--remount-ro',
        '/',
        '--chdir',
        call.cwd,
        '--',
        ...bubblewrapLimits({ processes: sandbox.limits.pids }),
        ...inside,
        JSON.stringify(settings),
        ...command,
      ];
      return { command: group?.joining(inWalls) ?? inWalls };
    },
    whyEnded: async () => group?.whyEnded(),
    cleanUp: async () => {
      await call.cleanUp?.();
      await proxy?.close();
      await group?.remove();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

const names = ['passwd', 'group', 'hosts', 'nsswitch.conf'] as const;

/** The accounts and hosts that programs need for themselves; the machine's stay hidden. */
async function writeNameFiles(folder: string, home: string): Promise<void> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const texts: Record<(typeof names)[number], string> = {
    passwd: `agent:x:${uid}:${gid}:agent:${home}:/bin/sh\n`,
    group: `agent:x:${gid}:\n`,
    hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  };
  for (const name of names) await writeFile(join(folder, name), texts[name], { mode: 0o600 });
}
