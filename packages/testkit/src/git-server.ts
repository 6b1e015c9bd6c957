import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A real git server on loopback: `git http-backend` behind HTTP. */
export interface GitServer {
  /** URL of the initial repository: `main`, with the given files. */
  url: string;
  /** The repository's folder, bare. */
  folder: string;
  host: string;
  /** Authorization headers as received, empty if there was none. */
  asked: string[];
  git(...args: string[]): Promise<string>;
  /** Adds a commit to a branch, as if someone else had pushed it. */
  commit(branch: string, files: Record<string, string>, message?: string): Promise<string>;
  close(): Promise<void>;
}

const identity = {
  GIT_AUTHOR_NAME: 'Grace',
  GIT_AUTHOR_EMAIL: 'grace@example.com',
  GIT_COMMITTER_NAME: 'Grace',
  GIT_COMMITTER_EMAIL: 'grace@example.com',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  // Automatic maintenance would run on in the background, in folders that are being removed.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'gc.auto',
  GIT_CONFIG_VALUE_0: '0',
};

/** @param password if absent, everyone may read and push */
export async function startGitServer(
  files: Record<string, string>,
  { password }: { password?: string } = {},
): Promise<GitServer> {
  const root = await mkdtemp('/var/tmp/git-server-');
  const folder = join(root, 'harbour', 'shop.git');
  const env = { ...process.env, ...identity };
  const git = async (...args: string[]) =>
    (await run('git', args, { cwd: folder, env, maxBuffer: 1e8 })).stdout.trim();
  await mkdir(folder, { recursive: true });
  await git('init', '--bare', '--quiet', '--initial-branch=main');
  await git('config', 'http.receivepack', 'true');
  const commit = async (branch: string, changed: Record<string, string>, message = 'A change') => {
    const work = await mkdtemp(join(root, 'work-'));
    const inWork = async (...args: string[]) => (await run('git', args, { cwd: work, env })).stdout.trim();
    const exists = (await git('branch', '--list', branch)) !== '';
    await inWork('clone', '--quiet', ...(exists ? ['--branch', branch] : []), folder, '.');
    if (!exists) await inWork('checkout', '--quiet', '-b', branch).catch(() => undefined);
    for (const [path, text] of Object.entries(changed)) {
      await mkdir(dirname(join(work, path)), { recursive: true });
      await writeFile(join(work, path), text);
    }
    await inWork('add', '-A');
    await inWork('commit', '--quiet', '-m', message);
    await inWork('push', '--quiet', 'origin', `HEAD:${branch}`);
    const sha = await inWork('rev-parse', 'HEAD');
    await rm(work, { recursive: true, force: true });
    return sha;
  };
  await commit('main', files, 'The beginning');
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const authorization = request.headers.authorization ?? '';
    asked.push(authorization);
    const credentials = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString();
    if (password !== undefined && credentials.split(':').slice(1).join(':') !== password) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    serve(root, request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}/harbour/shop.git`,
    folder,
    host,
    asked,
    git,
    commit,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      await rm(root, { recursive: true, force: true });
    },
  };
}

function serve(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'git',
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  backend.stdin.on('error', () => undefined);
  request.pipe(backend.stdin);
  let head = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    backend.stdout.off('data', onData);
    const headers = head
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(': ', 2) as [string, string]);
    const status = Number(headers.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200);
    response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status')));
    response.write(head.subarray(end + 4));
    backend.stdout.pipe(response);
  };
  backend.stdout.on('data', onData);
  backend.on('error', () => response.destroy());
}
