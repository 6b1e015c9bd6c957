// @ts-check
// The first program in a sandbox: `node inside.cjs <json> <program> <argument>…`. Before anything else runs, it checks that
// home and workspace are the intended folders; it forwards connections on the sandbox's loopback to the proxy's socket; and
// it exits the way the program does. It has no rights that the program lacks. Next to a container it only forwards connections.
//
// Plain CommonJS: each run waits for it, and stripping types would double its processor time.
'use strict';
const { spawn } = require('node:child_process');
const { readFileSync, statSync } = require('node:fs');
const { connect, createServer } = require('node:net');

/**
 * The first argument, as JSON.
 * @typedef {object} InsideSettings
 * @property {{ path: string, identity: string | null, name: string }[]} folders Identified by `dev:ino`; null if it isn't checked.
 * @property {string} socket The proxy's Unix socket.
 * @property {string | null} env File with the program's own environment; null if no program is started and others use the loopback.
 * @property {number} proxy_port
 * @property {{ host: string, port: number } | null} loopback The same port on loopback is forwarded to this host through the
 * proxy, for programs that never use a proxy for their own machine.
 */

/** Exit code; the message on stderr tells it apart from the same code of the program. */
const EXCHANGED = 97;

const [, , json = '{}', program = '', ...args] = process.argv;
/** @type {InsideSettings} */
const settings = JSON.parse(json);

for (const { path, identity, name } of settings.folders) {
  const { dev, ino } = statSync(path, { bigint: true });
  if (identity === null || identity === `${dev}:${ino}`) continue;
  process.stderr.write(`${name} was exchanged for another folder\n`);
  process.exit(EXCHANGED);
}

/**
 * @param {import('node:net').Socket} inner
 * @param {string} [greeting]
 */
function toProxy(inner, greeting) {
  const outer = connect(settings.socket);
  for (const one of [inner, outer]) one.on('error', () => one.destroy());
  inner.once('close', () => outer.destroy());
  outer.once('close', () => inner.destroy());
  if (greeting === undefined) return void inner.pipe(outer).pipe(inner);
  outer.write(greeting);
  // The proxy's response ends with an empty line; whatever its status, what follows comes from the host, or is the end.
  let said = '';
  /** @param {Buffer} chunk */
  const onData = (chunk) => {
    said += chunk.toString('latin1');
    const end = said.indexOf('\r\n\r\n');
    if (end === -1) return;
    outer.off('data', onData);
    inner.write(Buffer.from(said.slice(end + 4), 'latin1'));
    inner.pipe(outer).pipe(inner);
  };
  outer.on('data', onData);
}

/**
 * @param {number} port
 * @param {string} host
 * @param {string} [greeting]
 * @returns {Promise<void>}
 */
const listen = async (port, host, greeting) =>
  new Promise((done) => {
    const server = createServer((inner) => toProxy(inner, greeting));
    // If the port is taken or not allowed (below 1024), go on without: the proxy can still be reached.
    server.once('error', () => done());
    server.listen(port, host, () => done());
    if (settings.env !== null) server.unref();
  });

async function begin() {
  const { proxy_port, loopback, env } = settings;
  await listen(proxy_port, '127.0.0.1');
  if (loopback !== null) {
    const { host, port } = loopback;
    const greeting = `CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`;
    for (const own of ['127.0.0.1', '::1']) await listen(port, own, greeting);
  }
  if (env === null) process.stdout.write('ready\n');
  else startProgram(JSON.parse(readFileSync(env, 'utf8')));
}

/** @param {Record<string, string>} own */
function startProgram(own) {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...own, ...process.env } });
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
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

// If this fails, the program isn't started and the exit code says so.
void begin();
