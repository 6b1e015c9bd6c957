/** A machine for `hostile-program.ts` to break out into: secrets, other agents' homes, a database, a bystander. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import type { Machine } from './hostile-program.ts';

export interface HostileMachine {
  /** Facts about the machine given to the hostile program, as if it had found them out. */
  about: Machine;
  /** Paths that must be hidden from programs: the service's own. */
  hidden: string[];
  /** True while no one has killed the bystander. */
  isUnharmed(): boolean;
  close(): void;
}

/** @param folder an empty folder that the caller removes */
export async function startHostileMachine(folder: string): Promise<HostileMachine> {
  const servers: Server[] = [];
  const listen = async (server: Server, at: string | number): Promise<number> => {
    servers.push(server);
    await new Promise<void>((done) =>
      typeof at === 'number' ? server.listen(at, '0.0.0.0', done) : server.listen(at, done),
    );
    const address = server.address();
    return typeof address === 'string' || address === null ? 0 : address.port;
  };
  const database = () => createServer((one) => one.end('database'));
  const service = createHttpServer((asked, answer) =>
    answer.end(`service ${asked.url} ${String(asked.headers['x-forwarded-for'] ?? '-')}`),
  );
  const bystander = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], {
    env: { BYSTANDERS_SECRET: 'seen' },
    stdio: 'ignore',
  });
  const [home, other] = [path.join(folder, 'service/agents/own'), path.join(folder, 'service/agents/other')];
  for (const each of [home, other]) await mkdir(path.join(each, 'work'), { recursive: true });
  const [secret, foreign] = [path.join(folder, 'service/key'), path.join(other, 'notes')];
  for (const each of [secret, foreign]) await writeFile(each, 'secret');
  await symlink(secret, path.join(home, 'link'));
  const socket = path.join(folder, 'database.sock');
  const abstract = `\0walls-${randomUUID()}`;
  await listen(database(), socket);
  await listen(database(), abstract);
  const outside = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find((each) => !each.internal && each.family === 'IPv4');
  const checkout = path.resolve(import.meta.dirname, '../../..');
  return {
    about: {
      home,
      secret,
      foreign,
      socket,
      abstract,
      database_port: await listen(database(), 0),
      service_port: await listen(service, 0),
      outside: outside?.address ?? '127.0.0.1',
      pid: bystander.pid ?? 0,
      checkout,
    },
    hidden: [path.join(folder, 'service'), checkout],
    isUnharmed: () => (bystander.exitCode ?? bystander.signalCode) === null,
    close: () => {
      bystander.kill('SIGKILL');
      for (const server of servers) server.close();
    },
  };
}
