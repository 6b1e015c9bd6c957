/** The proxy's configuration, run by a real nginx; only the container's names, ports and folders are replaced. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe } from '@jest/globals';
import { freePort, waitFor } from '@acp/testkit';
import { findProgram, readText } from './files.ts';

const NGINX = findProgram('nginx');
export const withNginx = (...args: Parameters<typeof describe.skip>): void =>
  (NGINX === undefined ? describe.skip : describe)(...args);
export const why = NGINX === undefined ? ' (skipped: no nginx; Debian’s package has one)' : '';

export const nginxConf = readText('deploy/nginx.conf');

export interface Nginx {
  url: string;
  /** Log output so far. */
  log(): string;
  stop(): Promise<void>;
}

/** Replaces exactly one occurrence, so that a changed configuration fails here and not later. */
function put(text: string, place: string, value: string): string {
  if (text.split(place).length !== 2) throw new Error(`nginx.conf has not one "${place}"`);
  return text.replace(place, value);
}

/** @param upstream stands for the web tier, `http://127.0.0.1:…` */
export async function startNginx(upstream: string): Promise<Nginx> {
  const folder = await mkdtemp(path.join(tmpdir(), 'acp-nginx-'));
  // When started as root, its workers run as another user.
  await chmod(folder, 0o755);
  const port = await freePort();
  const listening = put(nginxConf, 'listen 8080;', `listen 127.0.0.1:${port};`);
  const conf = put(listening, 'http://web:3100', upstream).replaceAll('/tmp/', `${folder}/`);
  await writeFile(path.join(folder, 'nginx.conf'), conf);
  const child = spawn(NGINX!, ['-c', path.join(folder, 'nginx.conf'), '-g', 'daemon off;'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  const ended = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  await waitFor(
    async () => {
      if (child.exitCode !== null) throw new Error(`nginx ended:\n${complaints}`);
      return fetch(`${url}/metrics`).then(
        () => true,
        () => false,
      );
    },
    { what: 'nginx' },
  );
  return {
    url,
    log: () => complaints,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface Answer {
  status: number;
  /** Header names in lower case, repeated as often as received. */
  names: string[];
  headers: IncomingMessage['headers'];
  body: string;
}

/** Sends a request with its path unmodified, from a chosen loopback address: each address is a separate client. */
export async function ask(
  url: string,
  target: string,
  options: { from?: string; headers?: OutgoingHttpHeaders; method?: string; body?: Buffer } = {},
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const sent = request({
    hostname,
    port,
    path: target,
    method: options.method ?? 'GET',
    headers: { ...options.headers, ...(options.body ? { 'content-length': options.body.length } : {}) },
    localAddress: options.from ?? '127.0.0.1',
    agent: false,
  });
  // A rejected body is aborted midway; the response still arrives.
  sent.on('error', () => undefined);
  sent.end(options.body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of response) body += String(chunk);
  return {
    status: response.statusCode ?? 0,
    names: response.rawHeaders.filter((_each, index) => index % 2 === 0).map((name) => name.toLowerCase()),
    headers: response.headers,
    body,
  };
}
