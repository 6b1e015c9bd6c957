import { MAX_CAUSE_DEPTH, type Actor, type WakeReason } from '@acp/contract';
import { fixedStatement, type Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { type SQL, sql } from 'drizzle-orm';
import { causeDepth, humanActor } from '../activity/index.ts';

export interface WakeupRequest {
  company_id: string;
  agent_id: string;
  /** Null: not woken for a particular issue. */
  issue_id: string | null;
  reason: WakeReason;
  payload?: Record<string, unknown>;
}

export interface RequestedWakeup {
  id: string;
  agent_id: string;
  issue_id: string | null;
  /** The queued run that will take it; null if a dispatch has been enqueued. */
  run_id: string | null;
}

/** After this many consecutive runs without a change to their issue, only a human can wake for it (decisions 8.2). */
export const MAX_STALLED_RUNS = 5;

/**
 * Wakes agents: one statement inserts all requests or coalesces them into pending ones, and the same transaction enqueues a
 * `dispatch-agent` job per agent. Coalesced requests need a job too: the earlier one may be running right now, on a snapshot
 * without this request. Skipped are the author of the event, finished agents, trashed issues, chains of more than 12 causes, and
 * issues on which agents go in circles, unless a human asks.
 *
 * Coalescing: the newest reason wins, payloads and their `decisions` are merged, and the longer chain counts; a human's request starts a new chain.
 * Issues that the caller has just inserted are visible. A tick of the timer requests nothing beyond what a pending request
 * already does, so it changes and enqueues nothing then; otherwise an agent that is busy for long, or many that tick faster than
 * they are dispatched, would fill the queue that all companies share.
 * @returns what is pending now, without requests that were skipped and ticks without effect.
 */
export async function requestWakeups(
  tx: Tx,
  actor: Actor,
  requests: readonly WakeupRequest[],
): Promise<RequestedWakeup[]> {
  const author = actor.kind === 'agent' ? actor : undefined;
  const depth = causeDepth(actor);
  const wanted = requests.filter((request) => request.agent_id !== author?.agent_id);
  if (wanted.length === 0 || depth > MAX_CAUSE_DEPTH) return [];
  const human = humanActor(actor);
  const rows = (await inserted(tx, {
    wanted: JSON.stringify(wanted.map(numbered)),
    run_id: author?.run_id ?? null,
    depth,
    human,
    new_chain: human && depth === 0,
  })) as unknown as RequestedWakeup[];
  const agent_ids = new Set(rows.filter((row) => row.run_id === null).map((row) => row.agent_id));
  await enqueueMany(
    tx,
    'dispatch-agent',
    [...agent_ids].map((agent_id) => ({ agent_id })),
    // Timer ticks have a lower priority than everything else, however many agents tick.
    { idle: wanted.every(({ reason }) => reason === 'schedule') },
  );
  return rows;
}

/** SQL: one payload of two requests: what the later one says, and the `decisions` of both. */
export function mergedPayload(earlier: string, later: string): SQL {
  const [one, other] = [earlier, later].map((row) => sql`${sql.identifier(row)}.payload`);
  return sql`(${one} || ${other} || case when ${one} ? 'decisions' and ${other} ? 'decisions'
    then jsonb_build_object('decisions', (${one} -> 'decisions') || (${other} -> 'decisions')) else '{}' end)`;
}

const inserted = fixedStatement(
  ['wanted', 'run_id', 'depth', 'human', 'new_chain'],
  ({ wanted, run_id, depth, human, new_chain }) => sql`
    insert into wakeup_requests as held (company_id, agent_id, issue_id, reason, payload, cause_run_id, depth)
    select distinct on (wanted.agent_id, wanted.issue_id)
      wanted.company_id, wanted.agent_id, wanted.issue_id, wanted.reason, coalesce(wanted.payload, '{}'),
      ${run_id}::uuid, ${depth}::int
    from jsonb_to_recordset(${wanted}::jsonb)
      as wanted(company_id uuid, agent_id uuid, issue_id uuid, reason text, payload jsonb, place int)
    -- By key, one at a time: PostgreSQL would read all companies, and all agents and issues of one.
    cross join lateral (
      select agents.company_id from agents where agents.id = wanted.agent_id
        and agents.deleted_at is null and agents.status <> 'terminated'
        and exists (select from companies where companies.id = agents.company_id and companies.deleted_at is null) offset 0
    ) agent
    left join lateral (
      select issues.company_id, issues.stalled_runs from issues where issues.id = wanted.issue_id and issues.deleted_at is null offset 0
    ) issue on issue.company_id = wanted.company_id
    where agent.company_id = wanted.company_id and (wanted.issue_id is null
      or (issue.company_id is not null and (${human}::boolean or issue.stalled_runs < ${MAX_STALLED_RUNS})))
    order by wanted.agent_id, wanted.issue_id, wanted.place
    on conflict (agent_id, coalesce(issue_id, '00000000-0000-0000-0000-000000000000'::uuid)) where status = 'pending'
    do update set
      reason = excluded.reason,
      payload = ${mergedPayload('held', 'excluded')},
      cause_run_id = excluded.cause_run_id,
      depth = case when ${new_chain}::boolean then 0 else greatest(held.depth, excluded.depth) end
      where excluded.reason <> 'schedule'
    returning id, agent_id, issue_id, run_id`,
);

/** If there are several requests for the same agent and issue, the first one counts. */
function numbered(request: WakeupRequest, place: number): WakeupRequest & { place: number } {
  return { ...request, place };
}
