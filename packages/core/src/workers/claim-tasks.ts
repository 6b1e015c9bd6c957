import {
  adapterTraits,
  createValidator,
  type RemoteTask,
  TaskPayload,
  WORKER_OFFLINE_SEC,
  type WorkerActor,
} from '@acp/contract';
import type { Tx } from '@acp/db';
import type { Vault } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { mintRunKeys } from '../agents/index.ts';
import { noteOnHandedOverRuns } from '../runs/index.ts';
import { moduleToken } from './module-tokens.ts';
import { presentTask, type TaskRow, taskRow } from './present-task.ts';
import type { QueuedRoute } from './queued-routes.ts';
import { workerChanges } from './worker-changes.ts';

const readPayload = createValidator(TaskPayload, 'payload');
const fleet = systemActor('fleet');

/** Spare candidates per route, in addition to those wanted: that many concurrent claims of other processes don't collide. */
const SPARE_HEADS = 32;

export interface ClaimRules {
  /** The address at which programs of the task reach the service. */
  base_url: string;
  /** The operator's proxy and DNS for programs that are bound to a company's list of hosts; sent with the list. */
  egress?: { proxy: string | null; dns_addr: string | null };
  /** Signs the tokens of projects' modules. */
  vault?: Vault;
}

/** A worker's request for one task of a route; a worker may request more than one. */
export interface TaskClaim {
  worker: WorkerActor;
  route: Pick<QueuedRoute, 'route' | 'tags_required'>;
}

/**
 * The outcome of a claim: the task; `none`, no task of the route was available; `unfit`, the worker as it is stored now may not
 * have any of it; or a task that can't be handed out and returns to the queue once its worker does not list it.
 */
export type ClaimOutcome =
  | { kind: 'task'; task: RemoteTask }
  | { kind: 'none' }
  | { kind: 'unfit' }
  | { kind: 'broken'; cause: unknown };

interface Taken {
  claim: TaskClaim;
  place: number;
  row: TaskRow;
}

/**
 * Hands out the oldest tasks of the routes, each once, in the order of the claims. One statement decides for all: a worker
 * must be approved, have the tags and have been seen within 5 minutes; a task must be queued and its run not cancelled; tasks
 * that others are taking are skipped. Keys are added to the payload for this claim and not stored anywhere (decisions 8.6).
 * @returns one outcome for each claim, in order
 */
export async function claimTasks(
  tx: Tx,
  claims: readonly TaskClaim[],
  rules: ClaimRules,
): Promise<ClaimOutcome[]> {
  const { outcomes, taken } = await takeTasks(tx, claims);
  if (taken.length === 0) return outcomes;
  const readable = taken.flatMap((each) => {
    try {
      return [{ ...each, payload: readPayload(each.row.payload) }];
    } catch (cause) {
      outcomes[each.place] = { kind: 'broken', cause };
      return [];
    }
  });
  const keys = await mintRunKeys(
    tx,
    readable
      .filter(({ payload }) => runsProgram(payload))
      .map(({ row: { heartbeat_run_id: id, agent_id, company_id } }) => ({ id, agent_id, company_id })),
  );
  for (const { place, row, payload } of readable) {
    const key = keys.get(row.heartbeat_run_id);
    const access = key === undefined ? {} : { service_api_key: key, service_base_url: rules.base_url };
    const token = moduleToken(rules.vault, payload, row.claimed_at);
    const module = token === undefined ? {} : { project_module_token: token };
    const delivered = { ...payload, ...access, ...module, ...waysOut(payload, rules) };
    outcomes[place] = { kind: 'task', task: presentTask(row, delivered) };
  }
  await tell(tx, taken);
  return outcomes;
}

function waysOut({ egress_allowlist }: TaskPayload, { egress }: ClaimRules): Partial<TaskPayload> {
  if (egress_allowlist === undefined || egress === undefined) return {};
  return {
    ...(egress.proxy !== null && { egress_proxy: egress.proxy }),
    ...(egress.dns_addr !== null && { egress_dns_addr: egress.dns_addr }),
  };
}

interface ClaimRow extends Record<string, unknown> {
  place: number;
  is_fit: boolean;
}

/** Locks runs and tasks together without waiting for anything, so it can't violate a lock order. */
async function takeTasks(
  tx: Tx,
  claims: readonly TaskClaim[],
): Promise<{ outcomes: ClaimOutcome[]; taken: Taken[] }> {
  const asked = claims.map(({ worker, route }, place) => ({
    place,
    worker_id: worker.worker_id,
    route: route.route,
    tags: route.tags_required,
  }));
  const { rows } = await tx.execute<ClaimRow>(sql`
    with asked as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as a(place int, worker_id uuid, route text, tags jsonb)
    ), me as materialized (
      -- Blocks disabling or deleting the worker, but not its heartbeats.
      select w.id, w.tags from workers w
      where w.id in (select worker_id from asked) and w.status = 'approved'
        and w.last_seen_at > clock_timestamp() - make_interval(secs => ${WORKER_OFFLINE_SEC})
      order by w.id for key share
    ), fit as materialized (
      select a.place, a.worker_id, a.route, row_number() over (partition by a.route order by a.place) as turn
      from asked a join me on me.id = a.worker_id where me.tags @> a.tags
    ), wanted as materialized (
      select route, count(*) as claims from fit group by route
    ), head as materialized (
      select q.id, wanted.route from wanted cross join lateral (
        select q.id from remote_tasks q where q.status = 'queued' and q.route = wanted.route
        order by q.created_at, q.id limit wanted.claims + ${SPARE_HEADS}
      ) q
    ), picked as materialized (
      select p.* from wanted cross join lateral (
        select t.id, t.route, t.created_at from head
        join remote_tasks t on t.id = head.id
        join heartbeat_runs r on r.id = t.heartbeat_run_id
        where head.route = wanted.route and t.status = 'queued' and t.deadline > clock_timestamp()
          and r.status = 'running' and r.lease_expires_at is null and r.cancel_requested_at is null
        order by t.created_at, t.id limit wanted.claims
        for no key update of r, t skip locked
      ) p
    ), given as materialized (
      select p.id, fit.place, fit.worker_id from (
        select id, route, row_number() over (partition by route order by created_at, id) as turn from picked
      ) p join fit on fit.route = p.route and fit.turn = p.turn
    ), taken as (
      update remote_tasks t set status = 'claimed', worker_id = given.worker_id, claimed_at = clock_timestamp(),
        missing_since = null, attempts = t.attempts + 1,
        deadline = clock_timestamp() + make_interval(secs => t.timeout_sec)
      from given where t.id = given.id
      returning given.place as claim_place, t.*
    )
    select asked.place, fit.place is not null as is_fit, taken.*
    from asked left join fit on fit.place = asked.place left join taken on taken.claim_place = asked.place
    order by asked.place`);
  const outcomes = rows.map(({ is_fit }): ClaimOutcome => ({ kind: is_fit ? 'none' : 'unfit' }));
  const taken = rows
    .filter(({ id }) => id !== null)
    .map((raw) => ({ place: raw.place, claim: claims[raw.place]!, row: taskRow(raw) }));
  return { outcomes, taken };
}

/** Records the claims in transcripts and activity, and updates the admins' pages. */
async function tell(tx: Tx, taken: readonly Taken[]): Promise<void> {
  await noteOnHandedOverRuns(
    tx,
    taken.map(({ claim: { worker }, row }) => ({
      run_id: row.heartbeat_run_id,
      events: [{ kind: 'log', payload: { message: `worker ${worker.name} took the task` } }],
    })),
  );
  const workers = new Set(taken.map(({ claim }) => claim.worker.worker_id));
  await recordChanges(tx, fleet, [
    ...taken.map((each) => claimedChange(each)),
    ...(await workerChanges(tx, [...workers])),
  ]);
}

function claimedChange({ claim: { worker }, row }: Taken): Change {
  const { id, company_id, agent_id, heartbeat_run_id: run_id } = row;
  return {
    actor: worker,
    company_id,
    action: 'remote_task.claimed',
    entity_type: 'remote_task',
    entity_id: id,
    details: { run_id, agent_id, worker_id: worker.worker_id },
  };
}

/** Whether a program runs besides the model: such a task gets a key of its own. */
function runsProgram({ adapter_config: { local_adapter_type: type } }: TaskPayload): boolean {
  return typeof type === 'string' && adapterTraits(type).runs_as === 'program';
}
