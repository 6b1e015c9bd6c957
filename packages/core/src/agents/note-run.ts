import { fixedForms, rowReader, type Tx, schema } from '@acp/db';
import { eq, type SQL, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import type { StoredSession } from './agent-place.ts';
import { type AgentRow, summarizeAgent } from './present.ts';
import { startableStatuses } from './status.ts';

const { agents } = schema;
const agentRow = rowReader(agents);

/** What a run's start changes of its agent, as it was before. */
export interface AgentBefore {
  status: string;
  current_run_id: string | null;
  last_heartbeat_at: string | null;
}

/** SQL: an `AgentBefore` of the agent `a`, for the statement that starts its run. */
export const agentBefore = sql`(select jsonb_build_object('status', a.status, 'current_run_id', s.current_run_id,
  'last_heartbeat_at', s.last_heartbeat_at) from agent_runtime_states s where s.agent_id = a.id)`;

/**
 * Relations of the statement that starts runs, which mark their agents as `running`, unless a person is holding one back
 * (paused …). The agents are locked. `begun_agent` has those whose status changed, for `agentStartedChange`.
 * @param started relation of the runs, of different agents: `id`, `agent_id`
 */
export function markAgentsRunning(started: string): SQL {
  const begun = sql.identifier(started);
  return sql`begun_state as (
      update agent_runtime_states s set current_run_id = ${begun}.id, last_heartbeat_at = now(), updated_at = now()
      from ${begun} where s.agent_id = ${begun}.agent_id
    ), begun_agent as (
      update agents a set status = 'running', updated_at = now()
      from ${begun} where a.id = ${begun}.agent_id and a.status = any(${sql.param(startableStatuses)}::text[])
      returning a.*
    )`;
}

/** The event of a row of `begun_agent`, read as JSON. */
export function agentStartedChange(row: Record<string, unknown>): Change {
  return statusChange(agentRow(row));
}

/** Undoes `markAgentsRunning` for the run of one agent, which is still locked: its kind refused it. */
export async function noteRunRefused(tx: Tx, agent_id: string, before: AgentBefore): Promise<void> {
  await tx.execute(sql`
    with state as (
      update agent_runtime_states set current_run_id = ${before.current_run_id}, last_heartbeat_at = ${before.last_heartbeat_at}
      where agent_id = ${agent_id}
    )
    update agents set status = ${before.status} where id = ${agent_id} and status = 'running'`);
}

/**
 * Marks the agent as `idle` or `error` at the end of a run, unless another of its runs is in progress or a person holds it back.
 * Two statements. The first takes the agent's row lock, without which two runs ending at once would each see the other one
 * running and leave the agent `running` for good; so call it before locking issue and run rows (lock order: agent > issue >
 * run). `run_id` itself is not counted, whatever its row says.
 * @param outcome `session`: what the next run continues with, null to forget it; only stored if `version` is still the one the
 * run began with. `error` becomes `last_error`; success clears it. `agent_locked`: the caller already has the lock, so one
 * statement is enough. `waiting`: an array of ids that the same statement reads; `form` tells apart what `ids` gives.
 * @returns the event of the changed status for the caller's `recordChanges`, none if unchanged; and the ids read
 */
export async function noteRunEnded(
  tx: Tx,
  agent_id: string,
  outcome: {
    run_id: string;
    ok: boolean;
    error?: string | null;
    agent_locked?: true;
    session?: SessionChange;
    waiting?: {
      issue_id: string | null;
      form: string;
      ids: (run: Pick<EndValues, 'agent_id' | 'issue_id'>) => SQL;
    };
  },
): Promise<{ changes: Change[]; waiting: string[] }> {
  if (!outcome.agent_locked)
    await tx.select({ id: agents.id }).from(agents).where(eq(agents.id, agent_id)).for('no key update');
  const { ok, error, run_id, session: change, waiting } = outcome;
  const session = change?.session;
  const rows = await ended(
    tx,
    `${change === undefined ? 'as it is' : 'with session'} ${waiting?.form}`,
    {
      agent_id,
      issue_id: waiting?.issue_id,
      run_id,
      status: ok ? 'idle' : 'error',
      last_error: ok ? null : (error ?? 'unknown error'),
      version: change?.version,
      session_id: session?.id,
      session_cwd: session?.cwd,
      session_totals: session && JSON.stringify(session.totals ?? null),
    },
    (values) =>
      endStatement(
        values,
        change === undefined ? sql`` : sessionColumns(values),
        waiting?.ids(values) ?? sql`'{}'::uuid[]`,
      ),
  );
  return {
    changes: rows
      .filter(({ id }) => id !== null)
      .map(agentRow)
      .map(statusChange),
    waiting: rows[0]?.waiting as string[],
  };
}

const sessionNames = ['version', 'session_id', 'session_cwd', 'session_totals'] as const;
const ended = fixedForms(['agent_id', 'issue_id', 'run_id', 'status', 'last_error', ...sessionNames]);
type EndValues = Parameters<Parameters<typeof ended>[3]>[0];

const endStatement = (
  { agent_id, run_id, status, last_error }: EndValues,
  session: SQL,
  waiting: SQL,
): SQL => sql`
    with other as materialized (
      select r.id from heartbeat_runs r
      where r.agent_id = ${agent_id} and r.status = 'running' and r.id <> ${run_id} order by r.started_at desc limit 1
    ), state as (
      update agent_runtime_states s set current_run_id = (select id from other), updated_at = now(), last_error = ${last_error}${session}
      where s.agent_id = ${agent_id}
    ), changed as (
      update agents a set status = ${status}, updated_at = now()
      where a.id = ${agent_id} and a.status = 'running' and not exists (select from other)
      returning a.*
    )
    select ${waiting} as waiting, changed.* from (select) as always left join changed on true`;

export interface SessionChange {
  session: StoredSession | null;
  /** `session_version` of the place in which the run began. */
  version: string | null;
}

/** If it was cleared in the meantime, or another run has stored its own, that decision stands. */
function sessionColumns({ version, session_id, session_cwd, session_totals }: EndValues): SQL {
  const same = sql`s.session_updated_at::text is not distinct from ${version}::text`;
  const columns = [
    sql`session_id = case when ${same} then ${session_id}::text else s.session_id end`,
    sql`session_cwd = case when ${same} then ${session_cwd}::text else s.session_cwd end`,
    sql`session_totals = case when ${same} then ${session_totals}::jsonb else s.session_totals end`,
    sql`session_updated_at = case when ${same} then clock_timestamp() else s.session_updated_at end`,
  ];
  return sql`, ${sql.join(columns, sql`, `)}`;
}

/** Event only: a status set by a run is no one's act, so there is no activity entry. */
export function statusChange(row: AgentRow): Change {
  return {
    company_id: row.company_id,
    entity_type: 'agent',
    entity_id: row.id,
    event: { type: 'agent_updated', data: summarizeAgent(row) },
  };
}
