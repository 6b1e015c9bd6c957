// @ts-check
// The first program within a sandbox: `node inside.cjs <json> <program> <argument>…`. It makes sure that home and workspace
// are those that were meant, before anything else runs there; leads connections on the sandbox's own loopback to the proxy's socket;
// and stands in for the program to whoever waits for its end. It has no rights that the program lacks. Beside a container
// it only leads connections to the socket.
//
// JavaScript, and no module of ES: each run waits for it, and erasing types would double the processor time that it takes.
'use strict';
const { spawn } = require('node:child_process');
const { readFileSync, statSync } = require('node:fs');
const { connect, createServer } = require('node:net');

/**
 * By its first argument.
 * @typedef {object} InsideSettings
 * @property {{ path: string, identity: string | null, name: string }[]} folders By their `dev:ino`; null where nobody holds one.
 * @property {string} socket Of the proxy.
 * @property {string | null} env A file of variables that are the program's own; null: no program is started, others come to the loopback.
 * @property {number} proxy_port
 * @property {{ host: string, port: number } | null} loopback Led to the same port of that host, by the proxy: for programs that
 * never ask a proxy for their own machine.
 */

/** Told apart from a program's own by the words that go with it. */
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
  // Its answer is a few words up to an empty line; whatever they say, what follows is the host's, or the end.
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
    // A port that is taken or refused (below 1024) is done without: the proxy is there all the same.
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

// Where it fails the program is not started: the end says so.
void begin();
