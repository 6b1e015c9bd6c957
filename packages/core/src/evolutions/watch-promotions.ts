/** Monitors prompts that were activated automatically: compares the agent's next runs with those before. */
import { permits, type WatchState } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { stated } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { activatePrompt, findAgent, lockAgent } from '../agents/index.ts';
import { ALPHA, chanceOfWorse } from './rank-test.ts';
import { evolutionChange, type EvolutionRow, readParts } from './read-evolutions.ts';

const { prompt_evolutions } = schema;
const scheduler = systemActor('scheduler');

/** Number of runs compared on each side. */
const WATCHED_RUNS = 20;
/** Minimum number of runs before the activation; fewer are not conclusive. */
const LEAST_BEFORE = 8;
const AT_ONCE = 50;

/** Quality of a run, from 1 down to 0. Runs that failed for other reasons than the prompt (provider, budget, stop) don't count. */
const quality = sql`case when r.status = 'failed' then 0 else greatest(0,
  1 - 0.1 * least(3, (select count(*) from run_actions d where d.run_id = r.id and not d.ok))
  - 0.4 * (exists (select from approvals p where p.issue_id = r.issue_id and p.requested_by_agent_id = r.agent_id
      and p.status in ('rejected', 'revision_requested') and p.created_at >= r.started_at and p.created_at <= r.finished_at))::int
  - 0.4 * (exists (select from activity x where x.entity_id = r.issue_id and x.action = 'issue.updated'
      and x.created_at > r.finished_at and x.details #>> '{changes,status,from}' in ('done', 'cancelled')
      and not exists (select from heartbeat_runs o where o.issue_id = r.issue_id and o.started_at > r.finished_at
        and o.started_at < x.created_at)))::int) end`;

const counted = sql`r.agent_id = e.agent_id and r.kind = 'heartbeat' and r.issue_id is not null and (r.status = 'succeeded'
  or (r.status = 'failed' and r.error_category in ('permanent', 'timeout', 'internal')))`;

interface Watched extends Record<string, unknown> {
  id: string;
  agent_id: string;
  /** Newest first. */
  before: number[];
  /** Oldest first. */
  after: number[];
  superseded: boolean;
}

interface Verdict {
  watch: WatchState;
  watch_note: string;
}

/** Compares prompts with enough runs, and rolls back if the agent has become worse. @returns how many were decided */
export async function watchPromotions(tx: Tx): Promise<number> {
  const { rows } = await tx.execute<Watched>(sql`
    select e.id, e.agent_id, a.current_prompt_version_number <> e.version_number as superseded,
      array(select ${quality}::float8 from heartbeat_runs r where ${counted} and r.started_at < e.promoted_at
        order by r.created_at desc nulls last, r.id desc nulls last limit ${WATCHED_RUNS}) as before,
      array(select ${quality}::float8 from heartbeat_runs r where ${counted} and r.started_at >= e.promoted_at
        order by r.created_at, r.id limit ${WATCHED_RUNS}) as after
    from prompt_evolutions e join agents a on a.id = e.agent_id and a.deleted_at is null
    -- Only those that can be decided: the others would take all places for as long as their agents do not work.
    where e.watch = 'watching' and (a.current_prompt_version_number <> e.version_number
      or exists (select from heartbeat_runs r where ${counted} and r.started_at >= e.promoted_at offset ${WATCHED_RUNS - 1}))
    order by e.promoted_at limit ${AT_ONCE}`);
  let decided = 0;
  // Agents are locked in order of their ids.
  for (const watched of rows.toSorted((a, b) => (a.agent_id < b.agent_id ? -1 : 1))) {
    const verdict = verdictOn(watched);
    if (verdict === undefined) continue;
    await decide(tx, watched, verdict);
    decided += 1;
  }
  return decided;
}

function verdictOn({ superseded, before, after }: Watched): Verdict | undefined {
  if (superseded) return { watch: 'superseded', watch_note: stated('The prompt was changed meanwhile.') };
  if (after.length < WATCHED_RUNS) return undefined;
  if (before.length < LEAST_BEFORE)
    return { watch: 'kept', watch_note: stated('There are too few runs before it to compare with.') };
  const chance = chanceOfWorse(before, after);
  const figures = `mean ${mean(after)} in ${after.length} runs, ${mean(before)} in ${before.length} before, p = ${chance.toFixed(3)}`;
  return chance < ALPHA
    ? { watch: 'rolled_back', watch_note: `Significantly worse: ${figures}.` }
    : { watch: 'kept', watch_note: `Not significantly worse: ${figures}.` };
}

const mean = (values: readonly number[]): string =>
  (values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(2);

async function decide(tx: Tx, { id, agent_id }: Watched, found: Verdict): Promise<void> {
  await lockAgent(tx, agent_id);
  const agent = await findAgent(tx, agent_id);
  // As for activation (`mayPromote`): the agent may have been given the permission since.
  const reserved = found.watch === 'rolled_back' && agent && permits(agent.permissions, 'secrets.use');
  const verdict: Verdict = reserved
    ? { watch: 'kept', watch_note: `${found.watch_note} The agent has secrets.use: an admin decides.` }
    : found;
  const [row] = await tx
    .update(prompt_evolutions)
    .set(verdict)
    .where(sql`${eq(prompt_evolutions.id, id)} and ${prompt_evolutions.watch} = 'watching'`)
    .returning();
  if (row === undefined || agent === undefined) return;
  // Someone may have chosen another prompt since the runs were read.
  if (verdict.watch === 'rolled_back' && agent.current_prompt_version_number === row.version_number)
    await activatePrompt(tx, scheduler, agent, row.base_version_number);
  await recordChanges(tx, scheduler, [
    evolutionChange(row, await readParts(tx, [row]), `prompt_evolution.${verdict.watch}`),
    ...(found.watch === 'rolled_back' ? [alarm(row, agent.name)] : []),
  ]);
}

const alarm = ({ company_id, id, agent_id, watch, watch_note }: EvolutionRow, name: string) =>
  ({
    company_id,
    entity_type: 'prompt_evolution',
    entity_id: id,
    event: {
      type: 'notification',
      data: {
        topic: 'prompt_evolution',
        level: 'warning',
        message: `The evolved prompt of ${name} was ${watch === 'kept' ? 'not ' : ''}rolled back. ${watch_note ?? ''}`,
        entity_type: 'agent',
        entity_id: agent_id,
      },
    },
  }) as const;
