/** Acts of people, webhooks and accidents in a running company: one at a time, drawn by weight. */
import type { Stage } from './stage.ts';

interface Act {
  name: string;
  weight: number;
  /** Returns the outcome, for the list of steps. */
  act: (stage: Stage) => Promise<string>;
}

type Row = Record<string, string>;

/** A defect shows up as a 500; requests refused because of the current state are part of the mix. */
async function send(stage: Stage, method: string, path: string, body?: unknown): Promise<Response> {
  const response = await stage.api.send(method, path, body);
  if (response.status >= 500)
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}

const told = async (stage: Stage, method: string, path: string, body?: unknown): Promise<string> => {
  const response = await send(stage, method, path, body);
  const text = await response.text();
  return `${method} ${path} ${response.status}${response.ok ? '' : ` ${text}`}`;
};

async function anIssue(stage: Stage, which: string): Promise<Row | undefined> {
  const rows = await stage.query<Row>(
    `select id, identifier from issues where company_id = $1 and ${which} order by issue_number`,
    stage.company_id,
  );
  return stage.random.pick(rows);
}

async function onIssue(
  stage: Stage,
  which: string,
  act: (issue: Row) => [method: string, path: string, body?: unknown],
): Promise<string> {
  const issue = await anIssue(stage, which);
  return issue === undefined ? 'no such issue' : told(stage, ...act(issue));
}

const open = `status not in ('done', 'cancelled')`;
const anAgent = ({ random, agents }: Stage) => random.pick(agents)!;
const settings = '/api/instance-settings';

async function invoke(stage: Stage): Promise<string> {
  // Two concurrent runs of the wide agent without an issue could not be told apart by the model's prompts.
  const agent = stage.random.pick(stage.agents.filter(({ id }) => id !== stage.wide.id))!;
  return told(stage, 'POST', `/api/agents/${agent.id}/heartbeat/invoke`);
}

async function create(stage: Stage): Promise<string> {
  const { random, company_id, project_id } = stage;
  return told(stage, 'POST', `/api/companies/${company_id}/issues`, {
    title: 'Something to do',
    assignee_agent_id: anAgent(stage).id,
    ...(random.chance(0.5) ? { project_id } : {}),
  });
}

async function comment(stage: Stage): Promise<string> {
  const mention = stage.random.chance(0.6) ? `@${anAgent(stage).name} ` : '';
  const body = { body_markdown: `${mention}how is it?` };
  return onIssue(stage, 'true', ({ id }) => ['POST', `/api/issues/${id}/comments`, body]);
}

async function fire(stage: Stage): Promise<string> {
  const { random, routines, webhooks } = stage;
  if (random.chance(0.3)) return told(stage, 'POST', `/api/routines/${random.pick(routines)}/fire`);
  const payload = { number: random.int(1, 1e9) };
  return told(stage, 'POST', `/api/routine-triggers/public/${random.pick(webhooks)}/fire`, payload);
}

async function withAll(stage: Stage, act: 'pause' | 'resume'): Promise<string> {
  const all = stage.agents.map(async ({ id }) => told(stage, 'POST', `/api/agents/${id}/${act}`));
  return (await Promise.all(all)).join('; ');
}

/** Several concurrent acts on the same entities. */
async function press(stage: Stage): Promise<string> {
  const acts = [invoke, create, comment, fire];
  const drawn = Array.from({ length: stage.random.int(2, 5) }, () => stage.random.pick(acts)!);
  return (await Promise.all(drawn.map(async (act) => act(stage)))).join('; ');
}

/** Each limit is a new value: a waiver is valid only for the limit it was given at. */
async function changeLimit(stage: Stage): Promise<string> {
  const { random, policies } = stage;
  const policy_id = random.pick(policies)!;
  const [row] = await stage.query<{ spent: number }>(
    'select spent_usd::float8 as spent from budget_windows where policy_id = $1',
    policy_id,
  );
  const spent = row?.spent ?? 0;
  const limit_usd = random.pick([
    spent * random.next(),
    spent + random.next() / 10,
    spent + random.next(),
    ...Array.from({ length: 4 }, () => spent + 1 + 3 * random.next()),
  ])!;
  return setLimit(stage, policy_id, Math.max(0.001, Number(limit_usd.toFixed(6))));
}

export async function setLimit(stage: Stage, policy_id: string, limit_usd: number): Promise<string> {
  return limited(stage, policy_id, limit_usd, async () =>
    send(stage, 'PATCH', `/api/budget-policies/${policy_id}`, { limit_usd }),
  );
}

async function resolve(stage: Stage): Promise<string> {
  const breaches = await stage.query<{ id: string; policy_id: string; spent: number }>(
    `select id, policy_id, spent_usd::float8 as spent from budget_incidents
     where company_id = $1 and status = 'open' and kind = 'breach' order by opened_at`,
    stage.company_id,
  );
  const breach = stage.random.pick(breaches);
  if (breach === undefined) return 'no breach';
  const raised = Number((breach.spent + 0.5 + stage.random.next()).toFixed(6));
  const raise = stage.random.chance(0.7);
  return limited(stage, breach.policy_id, raise ? raised : Infinity, async () =>
    send(stage, 'POST', `/api/budget-incidents/${breach.id}/resolve`, raise ? { limit_usd: raised } : {}),
  );
}

async function limited(
  { limits }: Stage,
  policy_id: string,
  limit_usd: number,
  ask: () => Promise<Response>,
): Promise<string> {
  const sent_at = Date.now();
  const { ok, status } = await ask();
  if (ok) limits.push({ policy_id, limit_usd, sent_at, answered_at: Date.now() });
  return `policy ${policy_id}: ${limit_usd} ${status}`;
}

async function cancel(stage: Stage): Promise<string> {
  // Queued runs are few, and are cancelled through a different path.
  const statuses = stage.random.pick(['queued', 'running', 'queued running'])!.split(' ');
  const live = await stage.query<Row>(
    'select id from heartbeat_runs where company_id = $1 and status = any($2) order by created_at',
    stage.company_id,
    statuses,
  );
  const run = stage.random.pick(live);
  return run === undefined ? 'no run' : told(stage, 'POST', `/api/heartbeat-runs/${run.id}/cancel`);
}

async function replace(stage: Stage, signal: 'SIGKILL' | 'SIGTERM'): Promise<string> {
  // One scheduler always stays up: otherwise there would be no runs to lose.
  const { up } = stage.fleet;
  if (up.length < 2) return 'too few';
  await stage.fleet.replace(stage.random.pick(up)!, signal);
  return signal;
}

/** Each of them requests a run. */
const wakes: readonly Act[] = [
  { name: 'invoke', weight: 10, act: invoke },
  { name: 'create', weight: 8, act: create },
  { name: 'comment', weight: 10, act: comment },
  { name: 'fire', weight: 8, act: fire },
  { name: 'press', weight: 5, act: press },
  {
    name: 'trigger',
    weight: 6,
    act: async (stage) =>
      onIssue(stage, `${open} and assignee_agent_id is not null`, ({ id }) => [
        'POST',
        `/api/issues/${id}/trigger-agent`,
      ]),
  },
  {
    name: 'assign',
    weight: 6,
    act: async (stage) =>
      onIssue(stage, 'true', ({ id }) => [
        'PATCH',
        `/api/issues/${id}`,
        { assignee_agent_id: anAgent(stage).id, status: 'todo' },
      ]),
  },
];

const cancelling: Act = { name: 'cancel', weight: 10, act: cancel };

export const acts: readonly Act[] = [
  ...wakes,
  cancelling,
  {
    name: 'release',
    weight: 2,
    act: async (stage) =>
      onIssue(stage, 'checked_out_by_agent_id is not null', ({ id }) => [
        'POST',
        `/api/issues/${id}/force-release`,
      ]),
  },
  {
    name: 'pause',
    weight: 4,
    act: async (stage) => told(stage, 'POST', `/api/agents/${anAgent(stage).id}/pause`),
  },
  {
    name: 'resume',
    weight: 5,
    act: async (stage) => told(stage, 'POST', `/api/agents/${anAgent(stage).id}/resume`),
  },
  { name: 'pause all', weight: 1, act: async (stage) => withAll(stage, 'pause') },
  { name: 'resume all', weight: 6, act: async (stage) => withAll(stage, 'resume') },
  { name: 'stop', weight: 1, act: async (stage) => told(stage, 'PATCH', settings, { runs_paused: true }) },
  { name: 'go', weight: 15, act: async (stage) => told(stage, 'PATCH', settings, { runs_paused: false }) },
  {
    name: 'provider',
    weight: 2,
    act: async (stage) => told(stage, 'PATCH', `/api/providers/${stage.provider_id}`, { enabled: true }),
  },
  { name: 'limit', weight: 6, act: changeLimit },
  { name: 'resolve', weight: 12, act: resolve },
  { name: 'kill', weight: 6, act: async (stage) => replace(stage, 'SIGKILL') },
  { name: 'restart', weight: 2, act: async (stage) => replace(stage, 'SIGTERM') },
];

/** Block some work before the first rest, whatever the mix has led to, and queue more behind it. */
export const holds: readonly Act[] = [
  {
    name: 'hold agents',
    weight: 2,
    act: async (stage) => {
      const some = stage.agents.filter(() => stage.random.chance(0.4));
      const told_of = some.map(async ({ id }) => told(stage, 'POST', `/api/agents/${id}/pause`));
      return (await Promise.all(told_of)).join('; ');
    },
  },
  {
    name: 'hold all',
    weight: 1,
    act: async (stage) => told(stage, 'PATCH', settings, { runs_paused: true }),
  },
  {
    name: 'hold money',
    weight: 1,
    act: async (stage) => setLimit(stage, stage.random.pick(stage.policies)!, 0.001),
  },
];

export const lateActs: readonly Act[] = [...wakes, cancelling];

/** Removes everything that blocks work, each by its intended act, and nothing else. */
export async function liftAll(stage: Stage): Promise<void> {
  const { company_id, provider_id } = stage;
  const paused = await stage.query<Row>(
    `select id from agents where company_id = $1 and status = 'paused' and not budget_paused order by name`,
    company_id,
  );
  // Includes nearly exhausted budgets: they would block the next run.
  const spent_up = await stage.query<{ id: string; spent: number }>(
    `select p.id, w.spent_usd::float8 as spent from budget_policies p join budget_windows w on w.policy_id = p.id
     where p.company_id = $1 and w.spent_usd > p.limit_usd - 1 order by 1`,
    company_id,
  );
  const [stopped] = await stage.query(
    `select 1 from instance_settings where key = 'runs_paused' and value = 'true'`,
  );
  // Before the others: an agent paused by a budget cannot be resumed manually.
  for (const { id, spent } of spent_up) stage.steps.push(`lift: ${await setLimit(stage, id, spent + 50)}`);
  const lifts = [
    ...paused.map(
      ({ id }) =>
        async () =>
          told(stage, 'POST', `/api/agents/${id}/resume`),
    ),
    ...(stopped === undefined ? [] : [async () => told(stage, 'PATCH', settings, { runs_paused: false })]),
    async () => told(stage, 'PATCH', `/api/providers/${provider_id}`, { enabled: true }),
  ];
  while (lifts.length > 0) {
    const [lift] = lifts.splice(stage.random.int(0, lifts.length - 1), 1);
    stage.steps.push(`lift: ${await lift!()}`);
  }
}

export async function stopHeartbeats({ api, agents }: Stage): Promise<void> {
  for (const { id } of agents) await api.call('PATCH', `/api/agents/${id}`, { heartbeat_enabled: false });
}
