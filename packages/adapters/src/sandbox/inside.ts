// The first program within a sandbox: `node inside.mts <json> <program> <argument>…`. It makes sure that home and workspace
// are those that were meant, before anything else runs there; leads connections on the sandbox's own loopback to the proxy's socket;
// and stands in for the program to whoever waits for its end. It has no rights that the program lacks. Beside a container
// it only leads connections to the socket.
import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';

/** By its first argument. */
interface InsideSettings {
  /** By their `dev:ino`; null where nobody holds one. */
  folders: { path: string; identity: string | null; name: string }[];
  /** Of the proxy. */
  socket: string;
  /** A file of variables that are the program's own; null: no program is started, others come to the loopback. */
  env: string | null;
  proxy_port: number;
  /** Led to the same port of that host, by the proxy: for programs that never ask a proxy for their own machine. */
  loopback: { host: string; port: number } | null;
}

/** Told apart from a program's own by the words that go with it. */
const EXCHANGED = 97;

const [, , json = '{}', program = '', ...args] = process.argv;
const settings = JSON.parse(json) as InsideSettings;

for (const { path, identity, name } of settings.folders) {
  const { dev, ino } = statSync(path, { bigint: true });
  if (identity === null || identity === `${dev}:${ino}`) continue;
  process.stderr.write(`${name} was exchanged for another folder\n`);
  process.exit(EXCHANGED);
}

function toProxy(inner: Socket, greeting?: string): void {
  const outer = connect(settings.socket);
  for (const one of [inner, outer]) one.on('error', () => one.destroy());
  inner.once('close', () => outer.destroy());
  outer.once('close', () => inner.destroy());
  if (greeting === undefined) return void inner.pipe(outer).pipe(inner);
  outer.write(greeting);
  // Its answer is a few words up to an empty line; whatever they say, what follows is the host's, or the end.
  let said = '';
  const onData = (chunk: Buffer) => {
    said += chunk.toString('latin1');
    const end = said.indexOf('\r\n\r\n');
    if (end === -1) return;
    outer.off('data', onData);
    inner.write(Buffer.from(said.slice(end + 4), 'latin1'));
    inner.pipe(outer).pipe(inner);
  };
  outer.on('data', onData);
}

const listen = async (port: number, host: string, greeting?: string) =>
  new Promise<void>((done) => {
    const server = createServer((inner) => toProxy(inner, greeting));
    // A port that is taken or refused (below 1024) is done without: the proxy is there all the same.
    server.once('error', () => done());
    server.listen(port, host, done);
    if (settings.env !== null) server.unref();
  });

await listen(settings.proxy_port, '127.0.0.1');
if (settings.loopback !== null) {
  const { host, port } = settings.loopback;
  const greeting = `CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`;
  for (const own of ['127.0.0.1', '::1']) await listen(port, own, greeting);
}

if (settings.env === null) process.stdout.write('ready\n');
else startProgram(JSON.parse(readFileSync(settings.env, 'utf8')) as Record<string, string>);

function startProgram(own: Record<string, string>): void {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...own, ...process.env } });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  child.once('error', (err) => {
    process.stderr.write(`${program} could not be started: ${err.message}\n`);
    process.exit(127);
  });
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
