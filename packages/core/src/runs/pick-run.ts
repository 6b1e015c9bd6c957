import { fixedForms, type Tx, wakeableAgentStatuses } from '@acp/db';
import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { budgetHeld } from '../agents/index.ts';
import { readOnlyInstance } from '../settings/index.ts';
import { scopesOfRun } from '../budgets/index.ts';
import { kindNames, knownKinds } from './run-kinds.ts';

/** `waiting_run_id` without agents: all candidates were being claimed or ended at the time; this is one of them. */
export interface Picked {
  /** In the order in which their runs should begin. */
  agent_ids: string[];
  /** The front of the queue has too few that may start: nothing was picked from it, and the companies should be asked. */
  crowded: boolean;
  waiting_run_id: string | null;
  /** Maximum number of concurrent runs per company (decisions 7.7); null: unlimited. */
  company_limit: number | null;
}

interface PickOptions {
  /** `companies` looks further than the front of the queue, and takes three times as long to plan. */
  among: 'front' | 'companies';
  /** Wait for one of the best candidates' agents instead of skipping locked ones; any, or all who wait would wait for the same. */
  wait: boolean;
  /** Maximum number of agents to pick; more than 32 are not. */
  most: number;
}

// Candidate agents beyond those wanted: other schedulers may be claiming the first ones right now.
const SPARE = 3;
// These limits are literals in the statement: for a limit passed as a parameter PostgreSQL expects a tenth of the table, and plans
// again at each pick.
/** Number of companies sampled if the front of the queue has too little, in either direction from a random start. */
const COMPANIES = sql.raw('32');
/** Number of a company's runs that are checked one by one; after that its agents, each with its oldest run. */
const ONE_BY_ONE = sql.raw('16');
/** Number of candidates whose agents it tries to lock. */
const MOST = 32;
const TRIED = sql.raw(String(MOST));
/**
 * Each gives a statement of its own, and every connection that prepares it keeps 300 KB for it, or a megabyte among companies; so the limits
 * suffice for the largest number wanted of a few. Tables are joined by commas for the same reason: a JOIN is kept with all columns of both sides.
 */
const BREADTHS = [1, 8, MOST] as const;

/**
 * Locks and returns the agents of the fairest runs that may start: first those of companies with the fewest running runs (picks
 * count as running), then the oldest. Skips agents that are at their limit, blocked (by people or a budget) or in the trash,
 * companies that are in the trash or at their limit, and everything during an emergency stop. With a limit per company, one
 * agent at a time. Running runs fit into the schedulers' pools, so aggregating them is cheap; of the queued ones a bounded
 * number is read, however long the queue is and however many companies share it: the front of the whole queue, which nearly
 * always contains the fairest, and for a pick among the companies also a random sample of them, so that each gets its turn
 * (docs/adr/0050-front-of-the-queue.md).
 *
 * The result is a proposal: its snapshot may be older than the locks. The claim checks again under them.
 */
export async function pickRuns(tx: Tx, options: PickOptions): Promise<Picked> {
  const most = Math.min(options.most, MOST);
  const form = `${options.among} ${breadthOf(most)}${options.wait ? ' waiting' : ''} ${kindNames()}`;
  const make = (values: { most: Placeholder }) => pickStatement({ ...options, most }, values.most);
  const rows = (await picks(tx, form, { most }, make)) as unknown as {
    agent_id: string | null;
    waiting_run_id: string | null;
    company_limit: number | null;
    crowded: boolean;
  }[];
  const agent_ids = rows.flatMap(({ agent_id }) => agent_id ?? []);
  // There is always one: what was published.
  const { waiting_run_id, company_limit, crowded } = rows[0]!;
  return { agent_ids, waiting_run_id, company_limit, crowded };
}

const picks = fixedForms(['most']);

const breadthOf = (most: number): number => BREADTHS.find((breadth) => most <= breadth) ?? MOST;

/** @param places the same as `most`, where one statement serves several numbers of one breadth */
export function pickStatement({ among, wait, most }: PickOptions, places: number | Placeholder = most): SQL {
  const wanted = breadthOf(most) + SPARE;
  const front = sql.raw(String(8 * wanted));
  // When picking a single run, another agent of the same company is an alternative.
  const different = sql.raw(most === 1 ? 'agent_id' : 'company_id');
  return sql`
    with recursive ${whatRuns}, busy as materialized (
      select company_id, count(*) as runs from running group by company_id
    ), setting as materialized (
      select coalesce(bool_or(key = 'runs_paused' and value = 'true'), false) or ${readOnlyInstance} as paused,
        min(case when key = 'company_max_concurrent_runs' then (value #>> '{}')::int end) as company_limit
      from instance_settings where key in ('runs_paused', 'company_max_concurrent_runs')
    ), queue_front as materialized (
      select ${candidateColumns}, coalesce(busy.runs, 0) as runs
      from (select ${candidateColumns} from heartbeat_runs r where r.status = 'queued' order by r.created_at, r.id limit ${front}) r
      left join busy on busy.company_id = r.company_id
    ), of_front as materialized (
      select r.id, r.agent_id, r.company_id, r.runs, r.created_at
      from queue_front r, agents a, companies c, setting
      where a.id = r.agent_id and c.id = r.company_id and ${mayTakeMore(sql`r.company_id`, sql`r.runs`)} and ${mayStart()}
    ), ${among === 'front' ? frontAlone(front, different, places) : sampled(wanted)}${most === 1 ? sql`` : inTurn}, picked as materialized (
      select c.agent_id
      from (select * from ${most === 1 ? sql`candidate` : sql`turn`} order by runs, created_at, id limit ${TRIED}) c, agents a
      where a.id = c.agent_id order by ${wait ? sql`random()` : sql`c.runs, c.created_at, c.id`}
      limit case when (select company_limit from setting) is null then ${places}::int else 1 end
      for no key update of a ${wait ? sql`` : sql`skip locked`}
    ), published as materialized (
      select set_config(${PICKED}, coalesce(string_agg(picked.agent_id::text, ','), ''), true)
      from picked, setting where setting.company_limit is null
    )
    select picked.agent_id, (select id from candidate limit 1) as waiting_run_id, (select company_limit from setting) as company_limit,
      ${among === 'front' ? sql`(select crowded from enough)` : sql`false`} as crowded
    from published left join picked on true`;
}

/** Nothing further back is fairer than enough runs of companies that have none running, nor is there anything behind a short queue. */
const frontAlone = (front: SQL, different: SQL, places: number | Placeholder): SQL => sql`
    enough as materialized (
      select (select count(*) from queue_front) = ${front}
        and (select count(distinct ${different}) from of_front where runs = 0) < ${places}::int + ${sql.raw(String(SPARE))} as crowded
    ), candidate as materialized (
      select of_front.* from of_front, enough where not enough.crowded
    )`;

/** @param wanted the most of a company that may be picked */
const sampled = (wanted: number): SQL => sql`
    ${someCompanies()}, load as (
      select c.id as company_id, coalesce(busy.runs, 0) as runs
      from (select company_id from ahead union all select company_id from behind) tenant
      left join busy on busy.company_id = tenant.company_id, companies c, setting
      where c.id = tenant.company_id and ${mayTakeMore(sql`tenant.company_id`, sql`coalesce(busy.runs, 0)`)}
    ), candidate as materialized (
      select * from of_front where runs = 0
      union all
      select q.id, q.agent_id, load.company_id, load.runs, q.created_at
      from load cross join lateral (${oldestOf(sql`load.company_id`, sql.raw(String(wanted)))}) q
    )`;

/** What the checks look at, rather than all sixty columns. */
const candidateColumns = sql.raw('r.id, r.agent_id, r.company_id, r.issue_id, r.kind, r.created_at');

const PICKED = sql.raw(`'acp.picked_agents'`);

/**
 * SQL: the agents that a pick earlier in the transaction has locked; none where there is a limit per company. So the statement
 * that starts their runs can travel with the pick, without its answer.
 */
export const pickedAgents = sql`string_to_array(nullif(current_setting(${PICKED}, true), ''), ',')::uuid[]`;

// The order is that of the index of those that run: a plan from when little was queued might otherwise read all that is.
const whatRuns = sql`running as materialized (
      select company_id, agent_id from heartbeat_runs where status = 'running' order by company_id, agent_id
    ), full_agent as materialized (
      select a.id from (select agent_id, count(*) as runs from running group by agent_id) held
      , agents a where a.id = held.agent_id and held.runs >= a.max_concurrent_runs
    )`;

/**
 * Queued runs, for callers that check whether some may start: the oldest of all, and the oldest startable ones of a random
 * sample of the companies, so that each gets its turn.
 * @returns a select of ids
 */
export const someQueued = (front: number): SQL => sql`
  with recursive ${whatRuns}, ${someCompanies()}
  (select r.id from heartbeat_runs r where r.status = 'queued' order by r.created_at, r.id limit ${sql.raw(String(front))})
  union
  select q.id from (select company_id from ahead union all select company_id from behind) tenant
  cross join lateral (${oldestOf(sql`tenant.company_id`, ONE_BY_ONE)}) q`;

/** Whether the company `c`, with this many running runs, may start another. */
const mayTakeMore = (company_id: SQL, runs: SQL): SQL => sql`
  not setting.paused and c.deleted_at is null
    and (setting.company_limit is null or ${runs} < setting.company_limit) and not ${budgetHeld(sql`array[${company_id}]`)}`;

const mayWork = (): SQL => sql`
  a.deleted_at is null and a.status in ${wakeableAgentStatuses} and not exists (select from full_agent f where f.id = a.id)`;

/** Whether the run `r` of the agent `a` may start. */
const mayStart = (): SQL =>
  sql`${mayWork()} and r.kind in (${knownKinds()}) and not ${budgetHeld(scopesOfRun('r'))}`;

/** Companies with something queued, in either direction from a random start: `ahead` and `behind`. */
const someCompanies = (): SQL => sql`start as materialized (
      select gen_random_uuid() as id
    ), ahead as (${companiesFrom('ahead', sql`>=`, sql`>`, sql`asc`)}
    ), behind as (${companiesFrom('behind', sql`<`, sql`<`, sql`desc`)}
    )`;

/** Found by skipping through the index. */
function companiesFrom(name: string, first: SQL, next: SQL, way: SQL): SQL {
  const found = sql.identifier(name);
  return sql`
      select (select r.company_id from heartbeat_runs r
        where r.status = 'queued' and r.company_id ${first} start.id order by r.company_id ${way} limit 1), 1 as place
      from start
      union all
      select (select r.company_id from heartbeat_runs r
        where r.status = 'queued' and r.company_id ${next} ${found}.company_id order by r.company_id ${way} limit 1), place + 1
      from ${found} where ${found}.company_id is not null and place < ${COMPANIES}`;
}

/** A company's oldest runs that may start, if any, without reading everything queued behind one agent. */
const oldestOf = (company_id: SQL, most: SQL): SQL => sql`
  with early as materialized (
    select r.id, r.agent_id, r.created_at
    from (select ${candidateColumns} from heartbeat_runs r where r.company_id = ${company_id} and r.status = 'queued'
      order by r.created_at, r.id limit ${ONE_BY_ONE}) r, agents a
    where a.id = r.agent_id and ${mayStart()} order by r.created_at, r.id limit ${most}
  ), of_agents as (
    select r.id, r.agent_id, r.created_at from agents a, lateral (
      select r.id, r.agent_id, r.created_at from heartbeat_runs r
      where r.agent_id = a.id and r.status = 'queued' and r.kind in (${knownKinds()}) and not ${budgetHeld(scopesOfRun('r'))}
      order by r.created_at, r.id limit 1) r
    where a.company_id = ${company_id} and ${mayWork()} and not exists (select from early)
    order by r.created_at, r.id limit ${most}
  )
  select * from early union all select * from of_agents`;

/** Each agent once; ranks a company's second run as if its first were running already. */
const inTurn = sql`, turn as materialized (
      select id, agent_id, created_at, runs + row_number() over (partition by company_id order by created_at, id) as runs
      from (select distinct on (agent_id) * from candidate order by agent_id, created_at, id) oldest
    )`;
