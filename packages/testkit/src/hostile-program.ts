// An agent's program that tries to escape its sandbox; standard input lists what there is to find. Each line of output is
// one attempt and its result: `shut`, or what it got.
import { spawn, spawnSync } from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns/promises';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';

export interface Machine {
  home: string;
  secret: string;
  foreign: string;
  socket: string;
  abstract: string;
  database_port: number;
  service_port: number;
  outside: string;
  pid: number;
  checkout: string;
}

const about = JSON.parse(fs.readFileSync(0, 'utf8')) as Machine;
const proxy = new URL(process.env.HTTP_PROXY ?? '');
const PATIENCE_MS = 3000;
/** Connects directly, whatever the environment says about proxies. */
const agent = new http.Agent();

type Found = string | undefined;

async function attempt(way: string, work: () => Found | Promise<Found>): Promise<void> {
  let came_to = 'shut';
  try {
    const got = await work();
    if (got !== undefined) came_to = got;
  } catch {
    // Refused, as it should be.
  }
  process.stdout.write(`${JSON.stringify({ way, came_to })}\n`);
}

const read = (file: string) => () => fs.readFileSync(file, 'utf8');
const names = (folder: string) => () => {
  const found = fs.readdirSync(folder);
  return found.length === 0 ? undefined : found.join(' ');
};
const make = (file: string) => () => {
  fs.writeFileSync(file, 'x');
  return 'made';
};
/** Memory that belongs to no process. */
const fill = (file: string) => () => {
  try {
    fs.writeFileSync(file, Buffer.alloc(100 * 2 ** 20));
    return 'filled';
  } finally {
    fs.rmSync(file, { force: true });
  }
};
/** Opens and closes without writing: if a wall is missing, the machine must not suffer for it. */
const openToWrite = (file: string) => () => {
  fs.closeSync(fs.openSync(file, fs.constants.O_WRONLY));
  return 'open';
};

/** The first bytes sent by the server at the address. */
const reach =
  (to: net.NetConnectOpts, words = '') =>
  async () =>
    new Promise<string>((done, failed) => {
      const socket = net.connect({ timeout: PATIENCE_MS, ...to }, () => socket.write(words));
      socket.once('data', (chunk) => {
        done(String(chunk));
        socket.destroy();
      });
      for (const event of ['error', 'timeout', 'close'])
        socket.once(event, () => {
          failed(new Error(event));
          socket.destroy();
        });
    });

/** The wall holds if the kernel refuses to send: a datagram that goes out needs no answer. */
const datagram = (family: 'udp4' | 'udp6', address: string) => async () => {
  const socket = dgram.createSocket(family);
  try {
    return await new Promise<string>((done, failed) => {
      socket.once('error', failed);
      socket.send('out', 53, address, (err) => (err ? failed(err) : done('sent')));
    });
  } finally {
    socket.close();
  }
};

const byProxy =
  (url: string, headers: Record<string, string> = {}) =>
  async () =>
    new Promise<string | undefined>((done, failed) => {
      const options = {
        host: proxy.hostname,
        port: proxy.port,
        path: url,
        headers,
        agent,
        timeout: PATIENCE_MS,
      };
      const request = http.get(options, (answer) => {
        let text = '';
        answer.on('data', (chunk) => (text += String(chunk)));
        answer.on('end', () => done(answer.statusCode === 200 ? text : undefined));
      });
      request.once('error', failed);
      request.once('timeout', () => request.destroy());
    });

/** The status of a tunnel; undefined if it is refused. */
const tunnel = (place: string) => async () => {
  const words = `CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n\r\n`;
  const said = await reach({ host: proxy.hostname, port: Number(proxy.port) }, words)();
  return said.includes(' 200 ') ? '200' : undefined;
};

/** The output of a system program. */
const run =
  (program: string, ...args: string[]) =>
  () => {
    const { status, stdout } = spawnSync(program, args, { timeout: PATIENCE_MS, encoding: 'utf8' });
    return status === 0 ? `done ${stdout}` : undefined;
  };
const inNewNamespace = (script: string) =>
  run('unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', script);

function strangers(): string | undefined {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const found = pids.filter((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes('BYSTANDERS_SECRET');
    } catch {
      return false;
    }
  });
  return found.length > 0 || pids.length > 10 ? pids.join(' ') : undefined;
}

function foreignDescriptors(): string | undefined {
  const open = fs.readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [fs.readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  const files = open.filter((place) => place.startsWith('/') && !/^\/(dev|proc)\//.test(place));
  return files.length === 0 ? undefined : files.join(' ');
}

function strike(pid: number): () => string | undefined {
  return () => {
    process.kill(pid, 'SIGKILL');
    return 'struck';
  };
}

const { home, secret, foreign, database_port, service_port } = about;
const local = (port: number) => ({ host: '127.0.0.1', port });

await attempt('may write its home', () => (make(`${home}/own`)(), 'done'));
await attempt('may write temporary files', () => (make('/tmp/own')(), 'done'));
await attempt('may share memory', () => (make('/dev/shm/own')(), 'done'));
await attempt(
  'may ask the service by its proxy, without a forged address',
  byProxy(`http://localhost:${service_port}/api/x`, { 'x-forwarded-for': '9.9.9.9' }),
);
await attempt('may ask the service on its own loopback', async () => {
  const url = `http://127.0.0.1:${service_port}/api/y`;
  return new Promise((done, failed) => {
    http
      .get(url, { agent, headers: { 'x-forwarded-for': '9.9.9.9' } }, (answer) => {
        let text = '';
        answer.on('data', (chunk) => (text += String(chunk)));
        answer.on('end', () => done(text));
      })
      .once('error', failed);
  });
});
await attempt('may tunnel to the service', tunnel(`localhost:${service_port}`));

await attempt('read a secret of the service', read(secret));
await attempt('read it by a link in the home', read(`${home}/link`));
await attempt('read it by the root of the first process', read(`/proc/1/root${secret}`));
await attempt('read it by the folder of the first process', read(`/proc/1/cwd/../../../..${secret}`));
await attempt('read another agent’s home', read(foreign));
await attempt('list the homes', () => {
  const others = fs.readdirSync(`${home}/..`).filter((name) => !home.endsWith(name));
  return others.length === 0 ? undefined : others.join(' ');
});
await attempt('list the checkout', () => {
  const found = fs.readdirSync(about.checkout).filter((name) => !['node_modules', 'packages'].includes(name));
  return found.length === 0 ? undefined : found.join(' ');
});
await attempt('list homes of people', names('/home'));
await attempt('list the home of root', names('/root'));
await attempt('read password hashes', read('/etc/shadow'));
await attempt('read the machine’s accounts', () =>
  /daemon|nobody/.test(read('/etc/passwd')()) ? 'seen' : undefined,
);
await attempt('see other processes', strangers);
await attempt('read the environment of one', read(`/proc/${about.pid}/environ`));
await attempt('end one', () => {
  // Pids belong to its own namespace: the pid is free there, or is one of its own processes.
  if (fs.existsSync(`/proc/${about.pid}`)) return undefined;
  return strike(about.pid)();
});
await attempt('hold files of the machine open', foreignDescriptors);

await attempt('reach the database on loopback', reach(local(database_port)));
await attempt('reach it by the machine’s address', reach({ host: about.outside, port: database_port }));
await attempt('reach it by its socket', reach({ path: about.socket }));
await attempt('reach it by an abstract socket', reach({ path: about.abstract }));
await attempt('ask the proxy for it', byProxy(`http://localhost:${database_port}/`));
await attempt('tunnel to it', tunnel(`localhost:${database_port}`));
await attempt('tunnel to it by the address', tunnel(`127.0.0.1:${database_port}`));
await attempt('ask for the metadata service', byProxy('http://169.254.169.254/latest/meta-data'));
await attempt('tunnel to a host of nobody’s list', tunnel('example.com:443'));
await attempt(
  'tunnel to a name that only begins like a listed one',
  tunnel(`localhost.example.com:${service_port}`),
);
await attempt('ask a name server', async () => (await dns.lookup('example.com')).address);
await attempt('speak to a name server itself', reach({ host: '8.8.8.8', port: 53 }));
for (const [family, address] of [
  ['udp4', '8.8.8.8'],
  ['udp4', about.outside],
  ['udp6', '2001:4860:4860::8888'],
] as const)
  await attempt(`send a datagram to ${address}`, datagram(family, address));
await attempt('reach a host by IPv6', reach({ host: '2001:4860:4860::8888', port: 443 }));
await attempt('send to the machine’s neighbours', datagram('udp4', '224.0.0.251'));

await attempt('change a program of the system', openToWrite('/usr/bin/env'));
await attempt('change the program that node is', openToWrite(process.execPath));
await attempt('change the first program of the sandbox', openToWrite('/run/service/inside.cjs'));
await attempt('take the proxy’s socket away', () => (fs.unlinkSync('/run/service/egress'), 'gone'));
await attempt('write beside its home', make(`${home}/../beside`));
await attempt('write the root folder', make('/beside'));
await attempt('write accounts', openToWrite('/etc/passwd'));
for (const file of ['kernel/core_pattern', 'kernel/modprobe', 'vm/drop_caches', 'kernel/hostname'])
  await attempt(`set ${file} of the kernel`, openToWrite(`/proc/sys/${file}`));
await attempt('press the kernel’s keys', openToWrite('/proc/sysrq-trigger'));
await attempt('mount', run('mount', '-t', 'tmpfs', 'none', '/usr'));
await attempt(
  'make the system writable in namespaces of its own',
  inNewNamespace('mount -o remount,rw,bind /usr'),
);
await attempt(
  'make the kernel’s settings writable there',
  inNewNamespace('mount -o remount,rw,bind /proc/sys'),
);
await attempt(
  'mount the kernel’s settings afresh there',
  run(
    'unshare',
    '--user',
    '--map-root-user',
    '--mount',
    '--pid',
    '--fork',
    'mount',
    '-t',
    'proc',
    'proc',
    '/tmp',
  ),
);
await attempt('uncover what is hidden', inNewNamespace(`umount ${home} ; umount /tmp ; cat ${secret}`));
await attempt(
  'enter the first process’s namespaces',
  run('nsenter', '--target', '1', '--mount', 'cat', secret),
);
await attempt('take the machine’s memory by what its processes share', fill('/dev/shm/much'));
await attempt('take it by a file among the devices', fill('/dev/much'));
await attempt('make a device', run('mknod', `${home}/disk`, 'b', '8', '0'));
await attempt('open memory', () => (fs.openSync('/dev/mem', 'r'), 'open'));
await attempt('become somebody else', () => (process.setuid!(12_345), 'become'));

// Left behind on purpose: it must not outlive the sandbox.
spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { detached: true, stdio: 'ignore' }).unref();
