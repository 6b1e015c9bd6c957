/** The API as used by these tests: over HTTP, with the session of the bootstrap admin. */
import { newId } from '@acp/kernel';
import {
  cloneDatabase,
  type FakeModel,
  killServices,
  type ServiceProcess,
  startFakeModel,
  startService,
  type TestDatabase,
} from '@acp/testkit';

export const admin = { email: 'admin@example.com', password: 'correct horse battery' };

/**
 * Environment of a process in addition to its database: an admin, a quick shutdown. Leases are as long as in production: on a
 * busy machine, a process that is alive would lose shorter ones, and its runs with them.
 */
export const baseEnv = {
  SERVICE_BOOTSTRAP_ADMIN_EMAIL: admin.email,
  SERVICE_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
  SERVICE_DRAIN_TIMEOUT_SEC: '5',
};

/** For tests in which leases have to expire in their own time. */
export const shortLeases = { SERVICE_RUN_LEASE_SEC: '3' };

/** The instance's own provider, at a fake endpoint. */
export function modelEnv(url: string): Record<string, string> {
  return {
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
    SERVICE_DEFAULT_LLM_BASE_URL: url,
  };
}

export interface Api {
  cookie: string;
  /** Returns the response whatever its status; connection errors are thrown. */
  send(method: string, path: string, body?: unknown): Promise<Response>;
  /** Returns the body of a 2xx response; throws for any other. */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
}

export async function signIn({ url }: Pick<ServiceProcess, 'url'>, who = admin): Promise<Api> {
  const login = await fetch(`${url}/login`, {
    method: 'POST',
    body: new URLSearchParams(who),
    redirect: 'manual',
  });
  const cookie = login.headers.getSetCookie().find((each) => each.startsWith('service_session='));
  if (cookie === undefined) throw new Error(`sign-in answered ${login.status}: ${await login.text()}`);
  const session = cookie.split(';')[0]!;
  const send: Api['send'] = async (method, path, body) =>
    fetch(`${url}${path}`, {
      method,
      headers: { cookie: session, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    cookie: session,
    send,
    async call(method, path, body) {
      const response = await send(method, path, body);
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return response.json() as Promise<never>;
    },
  };
}

export interface Team {
  company_id: string;
  agents: { id: string; name: string }[];
}

/** Creates a company with one agent per name, each able to run one run at a time. */
export async function createTeam(api: Api, names: readonly string[], values: object = {}): Promise<Team> {
  const slug = `team-${newId().slice(0, 8)}`;
  const { id } = await api.call<{ id: string }>('POST', '/api/companies', { name: slug, slug });
  const agents = await Promise.all(
    names.map(async (name) =>
      api.call<{ id: string; name: string }>('POST', `/api/companies/${id}/agents`, {
        name,
        role: 'engineer',
        ...values,
      }),
    ),
  );
  return { company_id: id, agents };
}

/** Kills a scheduler, and ends its leases in the database: what follows needn't wait until they have expired by themselves. */
export async function killScheduler(
  { database, notifier }: TestDatabase,
  scheduler: ServiceProcess,
): Promise<void> {
  scheduler.kill('SIGKILL');
  await scheduler.ended;
  // A scheduler's name contains its pid.
  const name = `%:${scheduler.pid}:%`;
  await database.pool.query(
    `with hosts as (delete from plugin_hosts where name like $1),
      runs as (update heartbeat_runs set lease_expires_at = now() where status = 'running' and claimed_by like $1),
      programs as (update mcp_servers set lease_until = now() where held_by like $1),
      running as (update plugins set lease_until = now() where held_by like $1)
    update channels set lease_until = now() where held_by like $1`,
    [name],
  );
  // A scheduler that rests until the former end of those leases looks again.
  notifier.push('events', ['']);
}

export interface TwoTiers {
  db: TestDatabase;
  model: FakeModel;
  web: ServiceProcess;
  api: Api;
  /** Starts another scheduler; the test must start the first one, too. */
  startScheduler(): Promise<ServiceProcess>;
  stop(): Promise<void>;
}

/** Starts a web process on its own database, with a model for the schedulers. */
export async function startTwoTiers(label: string, more: Record<string, string> = {}): Promise<TwoTiers> {
  const db = await cloneDatabase(label);
  const model = await startFakeModel();
  const env = { ...baseEnv, ...modelEnv(model.url), DATABASE_URL: db.url, ...more };
  const web = await startService({ ...env, SERVICE_ROLE: 'web' });
  return {
    db,
    model,
    web,
    api: await signIn(web),
    startScheduler: async () => startService({ ...env, SERVICE_ROLE: 'scheduler' }),
    async stop() {
      await killServices();
      await model.close();
    },
  };
}
