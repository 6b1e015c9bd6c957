/** PgBouncer in transaction mode in front of a server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort, waitFor } from '@acp/testkit';
import { askNode, openFolder } from './cluster.ts';
import { account } from './programs.ts';

export interface Pooler {
  url: string;
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/** @param target URL of the server, or of a proxy in front of it */
export async function startPooler(program: string, target: string): Promise<Pooler> {
  const folder = openFolder('pooler');
  const { hostname, port, username, password } = new URL(target);
  const own = await freePort();
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: own,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    max_client_conn: 500,
    // Fewer sessions than the processes have connections, so state left behind by one transaction would surface in another.
    default_pool_size: 12,
    server_login_retry: 1,
    server_connect_timeout: 3,
    query_wait_timeout: 15,
    idle_transaction_timeout: 10,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const file = path.join(folder, 'pgbouncer.ini');
  const secret = password === '' ? '' : ` password=${password}`;
  const databases = `* = host=${hostname} port=${port} user=${username}${secret}`;
  writeFileSync(file, ['[databases]', databases, '[pgbouncer]', ...lines, ''].join('\n'));
  const child = spawn(program, ['-q', file], { ...account, stdio: 'ignore' });
  const url = new URL(target);
  url.port = String(own);
  await waitFor(async () => askNode(url.href, 'select 1'), { what: 'the pooler' });
  return {
    url: url.href,
    signal: (signal) => void child.kill(signal),
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGQUIT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
