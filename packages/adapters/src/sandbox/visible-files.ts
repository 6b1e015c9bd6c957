import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { findProgram } from '@acp/kernel';
import { AdapterError } from '../adapter-error.ts';
import type { SandboxSpec } from '../task.ts';

/** Programs and libraries of the system. */
const SYSTEM = '/usr';
const SYSTEM_LINKS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** Of /etc what programs need to run and to trust certificates; no accounts, no names of hosts, no configuration. */
const ETC = [
  'alternatives',
  'ca-certificates',
  'crypto-policies',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'mime.types',
  'pki',
  'protocols',
  'services',
  'ssl',
  'terminfo',
];

interface VisibleFiles {
  /** Arguments of bubblewrap. */
  mounts: string[];
  /** The command by its real file. */
  command: string[];
  /** Folders in which programs are looked for. */
  search: string[];
}

/**
 * What a command needs to run, read-only: the system's programs, Node, the command's own package, what its arguments name
 * by absolute path, and what the operator lists. What is hidden stays so, also where it lies in one of these.
 */
export function visibleFiles(
  [name = '', ...args]: readonly string[],
  search: string | undefined,
  { readable, hidden }: Pick<SandboxSpec, 'readable' | 'hidden'>,
): VisibleFiles {
  const file = findProgram(name, search);
  if (file === undefined)
    throw new AdapterError('config', `the program ${name} could not be started: ENOENT`);
  const program = realpathSync(file);
  const named = args.flatMap(pathIn).filter((path) => path !== '/' && existsSync(path));
  const wanted = [
    process.execPath,
    packageOf(program),
    ...named,
    ...readable.filter((path) => existsSync(path)),
  ];
  const shown = [...new Set([SYSTEM, ...wanted])];
  const covered = hidden
    .filter((path) => existsSync(path))
    .map((path) => realpathSync(path))
    .filter((path) => shown.some((each) => isWithin(path, realpathSync(each))));
  // What lies deeper comes later: a cover hides what is around it, not what was named within.
  const mounts = [
    ...covered.map((path) => ({ path, mount: ['--tmpfs', path] })),
    ...shown.map((path) => ({ path, mount: ['--ro-bind', path, path] })),
  ].toSorted((a, b) => a.path.split(sep).length - b.path.split(sep).length);
  return {
    mounts: [
      ...mounts.flatMap(({ mount }) => mount),
      ...SYSTEM_LINKS.flatMap(systemLink),
      ...ETC.map((each) => join('/etc', each))
        .filter((path) => existsSync(path))
        .flatMap((path) => ['--ro-bind', path, path]),
    ],
    command: [program, ...args],
    search: [...new Set([dirname(process.execPath), dirname(program), '/usr/local/bin', '/usr/bin', '/bin'])],
  };
}

/** `/a/path` and `--option=/a/path`. */
function pathIn(argument: string): string[] {
  const path = argument.startsWith('-') ? argument.slice(argument.indexOf('=') + 1) : argument;
  return isAbsolute(path) ? [path] : [];
}

/** A script's launcher and its native program lie side by side in `node_modules`; any other program is one file. */
function packageOf(program: string): string {
  const parts = program.split(sep);
  const at = parts.indexOf('node_modules');
  return at === -1 ? program : parts.slice(0, at + 1).join(sep);
}

function systemLink(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way.split(sep)[0] !== '..' && !isAbsolute(way));
}
