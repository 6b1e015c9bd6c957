import type { Actor, TurnUsage } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { usageOf } from './logged-usage.ts';
import { ofRun, readable } from './read-runs.ts';

const { run_events } = schema;

/**
 * One call of the model or program, with what followed from it. Times are in milliseconds since 1970, accurate to a tenth of
 * a second, since a transcript is stored in batches.
 */
export interface RunStep extends Record<string, unknown> {
  /** Counted from 1; 0 for anything written before the first turn. */
  turn: number;
  /** Number of its first entry. */
  seq: number;
  began_at: number;
  /** Times of the first and the last output; null if there was none. */
  first_output_at: number | null;
  last_output_at: number | null;
  ended_at: number;
  verbs: number;
  failed_verbs: number;
  tools: number;
  errors: number;
  /** Only set in a run of several turns, for a turn that has ended. */
  usage: TurnUsage | null;
}

/** More than the turns that a run may take. */
const MOST_STEPS = 200;
/** Entries are numbered between these. */
const BEFORE_ALL = -1;
const AFTER_ALL = 2_147_483_647;

/** The turns of a run from its transcript, in order; none if the reader may not read the run. */
export async function listRunSteps(tx: Tx, reader: Actor, run_id: string): Promise<RunStep[]> {
  const ofReader = sql`${run_events} where ${ofRun(run_id)} and ${readable(reader)}`;
  const at = (instant: SQL) => sql`extract(epoch from ${instant})::float8 * 1000`;
  // Each turn is a range of the transcript's index: to number all of the entries and to group them would sort a long transcript twice.
  const { rows } = await tx.execute<RunStep & { logged_usage: unknown[] | null }>(sql`
    with step as materialized (
      select (row_number() over (order by seq) - 1)::int as turn, seq as first, lead(seq, 1, ${AFTER_ALL}::int) over (order by seq) as next
      from (select ${BEFORE_ALL}::int as seq union all select seq from ${ofReader} and kind = 'prompt') begun
      order by seq limit ${MOST_STEPS + 1}
    )
    select step.turn, entry.* from step cross join lateral (
      select min(seq) as seq, ${at(sql`min(created_at)`)} as began_at,
        ${at(sql`min(created_at) filter (where kind = 'output')`)} as first_output_at,
        ${at(sql`max(created_at) filter (where kind = 'output')`)} as last_output_at,
        ${at(sql`max(created_at)`)} as ended_at,
        (count(*) filter (where kind = 'action'))::int as verbs,
        (count(*) filter (where kind = 'action' and payload @> '{"ok": false}'))::int as failed_verbs,
        (count(*) filter (where kind = 'tool' and payload ->> 'name' is distinct from 'result'))::int as tools,
        (count(*) filter (where kind = 'error'))::int as errors,
        jsonb_agg(payload -> 'usage' order by seq) filter (where kind = 'log' and payload -> 'usage' is not null) as logged_usage
      from ${ofReader} and seq >= step.first and seq < step.next
    ) entry where entry.seq is not null order by step.turn limit ${MOST_STEPS}`);
  return rows.map(({ logged_usage, ...step }) => ({ ...step, usage: usageOf(logged_usage?.at(-1)) }));
}

/** A call of one of a program's own tools, or a project command: from its start to its result. */
export interface RunTool extends Record<string, unknown> {
  seq: number;
  name: string;
  /** The command line or the beginning of it. */
  command: string | null;
  input: unknown;
  began_at: number;
  /** Null if there is no result, yet or ever. */
  ended_at: number | null;
  ok: boolean | null;
}

export const MOST_RUN_TOOLS = 300;
/** Maximum length of a call's input, in characters. */
const SHOWN = 1000;
const NAME = 100;

/**
 * The first tool calls, in order. Calls and results are matched by position: neither has the other's number, and programs
 * report results in the order of their calls. Calls that were refused up front or reported only afterwards took no time.
 * Entries sent by a worker may have any shape.
 */
export async function listRunTools(tx: Tx, reader: Actor, run_id: string): Promise<RunTool[]> {
  const { rows } = await tx.execute<RunTool>(sql`
    with entry as materialized (
      select seq, payload, extract(epoch from created_at)::float8 * 1000 as at, coalesce(payload ->> 'name', '') = 'result' as is_end
      from ${run_events}
      where ${ofRun(run_id)} and kind = 'tool' and not payload ?| array['denied', 'detail'] and ${readable(reader)}
      order by seq limit ${2 * MOST_RUN_TOOLS}
    ), numbered as (select *, row_number() over (partition by is_end order by seq) as place from entry)
    select call.seq, left(coalesce(call.payload ->> 'name', ''), ${NAME}) as name, call.at as began_at, done.at as ended_at,
      left(call.payload ->> 'command', ${SHOWN}) as command,
      case when length(call.payload ->> 'input') <= ${SHOWN} then call.payload -> 'input'
        else to_jsonb(left(call.payload ->> 'input', ${SHOWN})) end as input,
      case when done.seq is not null then done.payload -> 'ok' is distinct from 'false' end as ok
    from numbered call left join numbered done on done.place = call.place and done.is_end
    where not call.is_end order by call.seq limit ${MOST_RUN_TOOLS}`);
  return rows;
}
