import { type SQL, sql } from 'drizzle-orm';

/** How many attempts back a chain of retries is followed. */
const ATTEMPTS = 10;
const ACTIONS = 200;

/** An action as prompts show it. */
export const promptAction = sql`jsonb_build_object('ordinal', d.ordinal, 'verb', d.verb, 'args', d.args, 'result', d.result, 'error', d.error)`;

/**
 * The effects of all attempts at some work since one of them last succeeded, oldest first: the next attempt must not repeat
 * them, whether the previous one was lost, failed or cancelled, and however many there were.
 * @param runs the condition on `r`, a row of `heartbeat_runs`
 */
export const appliedByInterrupted = (runs: SQL): SQL => sql`coalesce((
  select jsonb_agg(${promptAction} order by d.created_at, d.run_id, d.ordinal) from (
    select d.* from (
      select n.id, bool_and(n.status <> 'succeeded') over (order by n.created_at desc, n.id desc) as interrupted from (
        select r.id, r.status, r.created_at from heartbeat_runs r
        where ${runs} and r.finished_at is not null order by r.created_at desc nulls last, r.id desc nulls last limit ${ATTEMPTS}) n) attempt
    join run_actions d on d.run_id = attempt.id and d.mutating and d.ok
    where attempt.interrupted order by d.created_at desc, d.run_id, d.ordinal desc limit ${ACTIONS}) d), '[]')`;

/** The verbs of the previous attempt that had no effect. */
export const failedInPrevious = (runs: SQL): SQL => sql`coalesce((
  select jsonb_agg(${promptAction} order by d.ordinal) from run_actions d where not d.ok and d.run_id = (
    select r.id from heartbeat_runs r where ${runs} and r.finished_at is not null
    order by r.created_at desc nulls last, r.id desc nulls last limit 1)), '[]')`;
