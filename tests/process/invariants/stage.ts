/** A company with agents of all kinds, budgets and routines, in an instance of real processes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cloneDatabase, fakeCliCommand, startFakeModel, startService, waitFor } from '@acp/testkit';
import type { FakeModel, ServiceProcess, TestDatabase } from '@acp/testkit';
import { baseEnv, modelEnv, shortLeases, signIn } from '../api.ts';
import type { Api } from '../api.ts';
import type { LimitChange } from './check-spending.ts';
import { ScriptedModel } from './model.ts';
import { Random } from './random.ts';

interface Named {
  id: string;
  name: string;
}

export interface Stage {
  seed: number;
  /** Generator of the current step. */
  random: Random;
  db: TestDatabase;
  api: Api;
  fake: FakeModel;
  model: ScriptedModel;
  fleet: Fleet;
  company_id: string;
  project_id: string;
  provider_id: string;
  agents: Named[];
  /** Works on two issues at a time, and only when woken. */
  wide: Named;
  policies: string[];
  routines: string[];
  /** Public ids of webhook triggers. */
  webhooks: string[];
  limits: LimitChange[];
  /** Acts so far, to help find the cause of a violation. */
  steps: string[];
  service_home: string;
  /** Homes of the agents whose programs run here. */
  program_homes: string[];
  query<T>(text: string, ...values: unknown[]): Promise<T[]>;
  /** From now on models and programs only finish their work. */
  calmDown(): Promise<void>;
  close(): Promise<void>;
}

/** The schedulers: two of them, running or starting. */
export class Fleet {
  readonly #env: Record<string, string>;
  readonly #all: ServiceProcess[] = [];
  #up: ServiceProcess[] = [];
  #starting: Promise<void>[] = [];
  /** When the last process was killed in the middle of its work. */
  killed_at = 0;

  constructor(env: Record<string, string>) {
    this.#env = { ...env, SERVICE_ROLE: 'scheduler', WORKER_POOL_SIZE: '10' };
  }

  get up(): readonly ServiceProcess[] {
    return this.#up;
  }

  /** All output of the processes. */
  output(): string {
    return this.#all.map((each) => each.output()).join('\n');
  }

  start(): void {
    const starting = this.#startOne();
    // Reported by `started`.
    starting.catch(() => undefined);
    this.#starting.push(starting);
  }

  async #startOne(): Promise<void> {
    const each = await startService(this.#env);
    this.#all.push(each);
    this.#up.push(each);
  }

  async started(): Promise<void> {
    await Promise.all(this.#starting);
    this.#starting = [];
  }

  /** Stops one, and starts another in its place. */
  async replace(old: ServiceProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#up = this.#up.filter((each) => each !== old);
    this.start();
    old.kill(signal);
    if (signal === 'SIGTERM') return;
    await old.ended;
    this.killed_at = Date.now();
  }

  /** Stops all of them in the regular way. @returns exits that were not clean */
  async stop(): Promise<string[]> {
    await this.started();
    const ends = await Promise.all(this.#up.map(async (each) => each.stop()));
    // Those stopped earlier may take as long as a run's program does.
    await Promise.all(this.#all.map(async ({ ended }) => ended));
    this.#up = [];
    return ends
      .filter(({ code }) => code !== 0)
      .map(({ code, signal }) => `a scheduler ended with ${code ?? signal}`);
  }
}

const quoted = (command: readonly string[]) => command.map((word) => `"${word}"`).join(' ');

export async function setStage(seed: number): Promise<Stage> {
  const [db, fake, folder] = await Promise.all([
    cloneDatabase('invariants'),
    startFakeModel(),
    mkdtemp(path.join(tmpdir(), 'acp-invariants-')),
  ]);
  const service_home = path.join(folder, 'home');
  const script = (kind: string) => path.join(folder, `program-${kind}.json`);
  const env = {
    ...baseEnv,
    ...shortLeases,
    ...modelEnv(fake.url),
    DATABASE_URL: db.url,
    SERVICE_HOME: service_home,
    SERVICE_CLI_A_COMMAND: quoted(fakeCliCommand('a', script('a'))),
    SERVICE_LOCAL_CLI: 'host',
    SERVICE_CLI_B_COMMAND: quoted(fakeCliCommand('b', script('b'))),
  };
  const fleet = new Fleet(env);
  fleet.start();
  fleet.start();
  const web = await startService({ ...env, SERVICE_ROLE: 'web' });
  const api = await signIn(web);
  const company = await api.call<Named>('POST', '/api/companies', { name: 'Acme', slug: 'acme' });
  const base = `/api/companies/${company.id}`;
  const make = async <T = Named>(what: string, values: object) =>
    api.call<T>('POST', `${base}/${what}`, values);
  const provider = await make('providers', {
    name: 'own',
    adapter_type: 'family_compat',
    base_url: fake.url,
  });
  const agents = await hire(make, provider.id);
  const project = await make('projects', { name: 'Shed' });
  const [, bob] = agents;
  const query: Stage['query'] = async (text, ...values) =>
    (await db.database.pool.query(text, values)).rows as never[];
  const issues: string[] = [];
  const model = new ScriptedModel(seed, {
    agents: agents.map(({ name }) => name),
    issues: () => issues,
    with_quota: ['Cleo'],
  });
  for (const kind of ['a', 'b'])
    await writeFile(script(kind), JSON.stringify({ calls: model.programCalls(kind, 200) }));
  fake.setScript(model.script);
  const stage: Stage = {
    seed,
    random: Random.of(seed, 0),
    db,
    api,
    fake,
    model,
    fleet,
    company_id: company.id,
    project_id: project.id,
    provider_id: provider.id,
    agents,
    wide: agents.find(({ name }) => name === 'Dan')!,
    policies: [],
    routines: [],
    webhooks: [],
    limits: [],
    steps: [],
    service_home,
    program_homes: agents
      .slice(-2)
      .map(({ id }) => path.join(service_home, 'companies', company.id, 'agents', id)),
    query,
    async calmDown() {
      model.calmDown();
      const usage = { input: 0, output: 0, cost_usd: 0 };
      const calm = JSON.stringify({ calls: [{ texts: ['Done.\n/status done'], usage }] });
      for (const kind of ['a', 'b']) await writeFile(script(kind), calm);
    },
    async close() {
      web.kill('SIGTERM');
      await Promise.all([fleet.stop(), web.ended]);
      await fake.close();
      await db.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await bound(stage, 'company', company.id, 10);
  await bound(stage, 'project', project.id, 5);
  await bound(stage, 'agent', bob!.id, 2);
  await addRoutines(stage, make);
  for (const [index, { id }] of agents.entries()) {
    const { identifier } = await make<{ identifier: string }>('issues', {
      title: `Task ${index}`,
      assignee_agent_id: id,
      ...(index % 2 === 0 ? { project_id: project.id } : {}),
    });
    issues.push(identifier);
  }
  await fleet.started();
  return stage;
}

type Make = <T = Named>(what: string, values: object) => Promise<T>;

async function hire(make: Make, provider_id: string): Promise<Named[]> {
  const agents = [
    { name: 'Ada', role: 'pm' },
    { name: 'Bob', role: 'engineer' },
    { name: 'Cleo', role: 'engineer', provider_id, model: 'fake-model' },
    { name: 'Dan', role: 'engineer', max_concurrent_runs: 2, max_issues_per_run: 2 },
    { name: 'Eve', role: 'qa', heartbeat_enabled: true, heartbeat_interval_sec: 2 },
    { name: 'Fay', role: 'devops', adapter_type: 'cli_a_local', adapter_config: { timeout_seconds: 2 } },
    { name: 'Gus', role: 'devops', adapter_type: 'cli_b_local', adapter_config: { timeout_seconds: 2 } },
  ];
  return Promise.all(agents.map(async (values) => make('agents', values)));
}

async function bound(stage: Stage, scope_type: string, scope_id: string, limit_usd: number): Promise<void> {
  const sent_at = Date.now();
  const { id } = await stage.api.call<{ id: string }>(
    'POST',
    `/api/companies/${stage.company_id}/budget-policies`,
    { scope_type, scope_id, window: 'lifetime', limit_usd, action: 'pause' },
  );
  stage.policies.push(id);
  stage.limits.push({ policy_id: id, limit_usd, sent_at, answered_at: Date.now() });
}

async function addRoutines(
  { agents, routines, webhooks, api, project_id }: Stage,
  make: Make,
): Promise<void> {
  const policies = ['always_enqueue', 'coalesce_if_active', 'skip_if_active'];
  for (const [index, concurrency_policy] of policies.entries()) {
    const { id } = await make('routines', {
      name: `Routine ${index}`,
      title_template: 'Look after {{routine.name}}',
      assignee_agent_id: agents[index + 1]!.id,
      concurrency_policy,
      ...(index === 0 ? { project_id } : {}),
    });
    routines.push(id);
    const trigger = await api.call<{ public_id: string; id: string }>(
      'POST',
      `/api/routines/${id}/triggers`,
      {
        kind: 'webhook',
        signing_mode: 'none',
      },
    );
    await api.call('PATCH', `/api/routine-triggers/${trigger.id}`, { replay_window_sec: 0 });
    webhooks.push(trigger.public_id);
  }
}

/** Longer than the retry delay of a failed job. Jobs due later wait for a provider's pause to end. */
const SOON_SEC = 20;

/**
 * Waits until nothing runs, no job that is due soon waits, and no live process has taken one. The longest legitimate wait is
 * for a job that failed often, or whose notification died with its sender: the check every 30 s finds that one. By then, jobs
 * that were not due soon may have become so.
 */
export async function waitForRest({ db, fleet, company_id }: Stage): Promise<void> {
  const busy = async () => {
    const { rows } = await db.database.pool.query<{ busy: string[] }>(
      `select array_remove(array[
        (select 'runs' from heartbeat_runs where company_id = $1 and status = 'running' limit 1),
        (select format('%s waits (%s) since %s for %s', name, state, created_on, start_after) from pgboss.job
          where state in ('created', 'retry') and start_after < now() + make_interval(secs => $3) order by created_on limit 1),
        (select name || ' is at work' from pgboss.job where state = 'active'
          and extract(epoch from started_on) * 1000 > $2 limit 1),
        (select 'events' from outbox limit 1)
      ], null) as busy`,
      [company_id, fleet.killed_at, SOON_SEC],
    );
    const [row] = rows;
    if (row!.busy.length > 0) throw new Error(row!.busy.join(', '));
    return true;
  };
  await waitFor(busy, { timeout_ms: 200_000, interval_ms: 50, what: 'rest' });
}
