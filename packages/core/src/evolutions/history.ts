/** Selects the finished issues of an agent that an evolution learns from, and how they are split. */
import { LEAST_HELD_OUT, MINIBATCH } from '@acp/contract';
import type { Tx } from '@acp/db';
import { conflict, said } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { shuffled } from './draw.ts';

/** Maximum number of the agent's latest runs that are considered. */
const RUNS = 2000;
const MOST_ISSUES = 40;
const MOST_HELD_OUT = 15;
const LEAST_ISSUES = LEAST_HELD_OUT + MINIBATCH;

export interface Instance {
  ordinal: number;
  issue_id: string;
  split: 'train' | 'held_out';
  began_at: string;
}

/**
 * The newest finished issues that the agent has worked on, split randomly. Runs private to one person are ignored.
 * @throws conflict if there are too few to tell a better prompt from a lucky one
 */
export async function selectInstances(
  tx: Tx,
  of: { id: string; agent_id: string; max_rollouts: number },
): Promise<Instance[]> {
  const { rows } = await tx.execute<{ issue_id: string; began_at: string }>(sql`
    select i.id as issue_id, work.began_at from (
      select r.issue_id, min(r.started_at) as began_at, max(r.created_at) as last_at from (
        select issue_id, started_at, created_at from heartbeat_runs
        where agent_id = ${of.agent_id} and kind = 'heartbeat' and issue_id is not null and started_at is not null
          and private_to_user_id is null
        order by created_at desc nulls last, id desc nulls last limit ${RUNS}) r
      group by r.issue_id
    ) work join issues i on i.id = work.issue_id
    where i.deleted_at is null and i.status in ('done', 'cancelled')
    order by work.last_at desc, i.id limit ${MOST_ISSUES}`);
  if (rows.length < LEAST_ISSUES)
    throw conflict(
      said`too little history: the agent has ${rows.length} finished issues, an evolution needs ${LEAST_ISSUES}`,
    );
  const held = Math.max(
    LEAST_HELD_OUT,
    Math.min(MOST_HELD_OUT, Math.floor(of.max_rollouts / 5), rows.length - MINIBATCH),
  );
  return shuffled(of.id, rows, ({ issue_id }) => issue_id).map((row, ordinal): Instance => ({
    ordinal,
    ...row,
    split: ordinal < held ? 'held_out' : 'train',
  }));
}
