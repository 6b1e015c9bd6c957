/** A parser that has been taken over by a malicious file: what it finds when it looks around. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '@acp/kernel';
import { needsBubblewrap } from '@acp/testkit';
import { walledCommand } from './walls.ts';

const run = promisify(execFile);
const withBubblewrap = await needsBubblewrap(describe);

/** Prints the outcome of each attempt. Its only argument says where things are. */
const hostile = `
const { readFileSync, readdirSync, writeFileSync } = require('node:fs');
const about = JSON.parse(process.argv[1]);
const connect = (options) => new Promise((done, failed) =>
  require('node:net').connect(options).once('connect', () => done('open')).once('error', failed));
const ways = {
  own_code: () => readFileSync(about.own),
  library: () => readFileSync(about.library),
  memory_in_use: () => process.memoryUsage.rss() > 1e6,
  state_of_the_service: () => readFileSync(about.secret),
  settings_in_the_checkout: () => readFileSync(about.checkout + '/package.json'),
  list_of_the_checkout: () => { if (!readdirSync(about.checkout).includes('package.json')) throw 0; },
  system: () => readFileSync('/etc/passwd'),
  hosts: () => readFileSync('/etc/hosts'),
  other_process: () => readFileSync('/proc/' + about.pid + '/environ'),
  temporary_file: () => writeFileSync('/tmp/x', 'x'),
  own_folder: () => writeFileSync(about.own + '.x', 'x'),
  program: () => require('node:child_process').execFileSync('/bin/true'),
  network: () => connect({ host: '127.0.0.1', port: about.port }),
  socket_in_a_folder: () => connect({ path: about.socket }),
  abstract_socket: () => connect({ path: '\\0' + about.abstract }),
};
(async () => {
  const found = {};
  for (const [name, way] of Object.entries(ways)) {
    try { await way(); found[name] = 'open'; } catch { found[name] = 'shut'; }
  }
  console.log(JSON.stringify(found));
  process.exit(0);
})();`;

const allowed = { own_code: 'open', library: 'open', memory_in_use: 'open' };
const files = {
  state_of_the_service: 'shut',
  settings_in_the_checkout: 'shut',
  list_of_the_checkout: 'shut',
  system: 'shut',
  hosts: 'shut',
  other_process: 'shut',
  temporary_file: 'shut',
  own_folder: 'shut',
  program: 'shut',
};

let folder: string;
const servers: Server[] = [];
beforeAll(async () => {
  folder = await mkdtemp('/var/tmp/walls-test-');
});
afterAll(async () => {
  for (const server of servers) server.close();
  await rm(folder, { recursive: true, force: true });
});

async function listen(at: string | number): Promise<number> {
  const server = createServer((one) => one.end());
  servers.push(server);
  await new Promise<void>((done) =>
    typeof at === 'number' ? server.listen(at, '127.0.0.1', done) : server.listen(at, done),
  );
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** @param change to the command, whose script is replaced by the hostile one */
async function lookAround(change: (command: string[]) => string[]): Promise<Record<string, string>> {
  const own = join(import.meta.dirname, 'child.ts');
  const [secret, socket, abstract] = [
    join(folder, 'secret'),
    join(folder, `${servers.length}.sock`),
    `walls-${process.pid}-${servers.length}`,
  ];
  await writeFile(secret, 'secret');
  const about = {
    own,
    secret,
    socket,
    abstract,
    library: join(repositoryRoot, 'node_modules/htmlparser2/package.json'),
    checkout: repositoryRoot,
    pid: process.pid,
    port: await listen(0),
  };
  await listen(socket);
  await listen(`\0${abstract}`);
  const command = await walledCommand('child.ts', [], 200, [folder]);
  expect(command.at(-1)).toBe(own);
  const [program = '', ...args] = change([...command.slice(0, -1), '-e', hostile, JSON.stringify(about)]);
  const { stdout } = await run(program, args, { env: {}, timeout: 20_000 });
  return JSON.parse(stdout) as Record<string, string>;
}

const withoutWalls = (command: string[]) => command.slice(command.indexOf('--') + 1);

withBubblewrap('a parser that was taken over, in bubblewrap', () => {
  it('has its code, and reaches no other file, process, socket or network', async () => {
    const network = { network: 'shut', socket_in_a_folder: 'shut', abstract_socket: 'shut' };
    expect(await lookAround((command) => command)).toEqual({ ...allowed, ...files, ...network });
  });

  it('also where Node’s own permissions were overcome', async () => {
    const bare = (command: string[]) => command.filter((each) => !/^--(?:permission|allow-)/.test(each));
    const found = await lookAround(bare);
    // The system's programs may be run; they see just as little.
    expect(found).toEqual({
      ...allowed,
      ...files,
      program: 'open',
      network: 'shut',
      socket_in_a_folder: 'shut',
      abstract_socket: 'shut',
    });
  });
});

describe('a parser that was taken over, without bubblewrap', () => {
  it('reads and writes no file but its code and starts nothing; the network is not shut', async () => {
    const found = await lookAround(withBubblewrap === describe ? withoutWalls : (command) => command);
    expect(found).toMatchObject({ ...allowed, ...files, network: 'open' });
  });
});
