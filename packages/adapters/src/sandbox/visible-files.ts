import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { findProgram } from '@acp/kernel';
import { AdapterError } from '../adapter-error.ts';
import type { SandboxSpec } from '../task.ts';

/** The system's programs and libraries. */
const SYSTEM = '/usr';
const SYSTEM_LINKS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** The parts of /etc needed for running programs and trusting certificates; no accounts, host names or configuration. */
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
  /** Arguments for bubblewrap. */
  mounts: string[];
  /** The command with its real path. */
  command: string[];
  /** Folders to search for programs. */
  search: string[];
}

/**
 * What a command needs to run, read-only: the system's programs, Node.js, the command's own package, absolute paths in its
 * arguments, and the operator's list. Hidden paths stay hidden even inside one of these.
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
  // Deeper paths come later: a cover hides its surroundings, but not a path that was explicitly included.
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

/** A script's launcher and its native program are siblings in `node_modules`; any other program is a single file. */
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
