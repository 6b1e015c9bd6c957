/** What was spent within a span of time, whole days from their totals (`cost_days`), the rest from the cost events. */
import { completeFrom, startOfDay } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';

export type CostScope = { company_id: string } | { agent_id: string };

/** `from` inclusive, `to` exclusive, as `timestamptz`; and the days (UTC, `date`) that lie within, `end_day` exclusive. */
interface Span {
  from: SQL;
  first_day: SQL;
  /** Both are absent in a span without an end. */
  end_day?: SQL;
  to?: SQL;
}

/**
 * A relation with `day`, `agent_id`, `project_id`, `model`, `cost_usd`, `estimated_usd`, `input_tokens`, `output_tokens` and `runs`, to
 * be summed up. The number of rows depends on how many days, agents and models there are, not on how much they did, but for the days
 * that lie only partly within the span.
 */
function spendingIn(scope: CostScope, { from, first_day, end_day, to }: Span): SQL {
  const first = sql`greatest(${first_day}, ${completeFrom('cost_days')})`;
  const untilFirst = to === undefined ? startOfDay(first) : sql`least(${startOfDay(first)}, ${to})`;
  const parts = [
    sql`select d.day, d.agent_id, d.project_id, d.model, d.cost_usd, d.estimated_usd, d.input_tokens, d.output_tokens, d.runs
      from cost_days d where ${isOf('d', scope)} and d.day >= ${first} ${end_day === undefined ? sql`` : sql`and d.day < ${end_day}`}`,
    eventsIn(scope, from, untilFirst),
  ];
  if (end_day !== undefined && to !== undefined)
    parts.push(eventsIn(scope, startOfDay(sql`greatest(${end_day}, ${first})`), to));
  return sql.join(parts, sql` union all `);
}

/** Everything since the start of the day. */
export const spendingSince = (scope: CostScope, day: SQL): SQL =>
  spendingIn(scope, { from: startOfDay(day), first_day: day });

/** @param from RFC 3339, inclusive; null: no limit @param to the same, exclusive */
export function spendingBetween(scope: CostScope, from: string | null, to: string | null): SQL {
  const since =
    from === null ? always : { from: instant(from), first_day: dayOf(from, sql`+ ${DAY} - ${TICK}`) };
  return spendingIn(scope, to === null ? since : { ...since, to: instant(to), end_day: dayOf(to) });
}

const always = { from: sql`'-infinity'::timestamptz`, first_day: sql`'-infinity'::date` };
const DAY = sql`interval '1 day'`;
/** The precision of instants: midnight itself begins its day, anything later belongs to the next that is whole. */
const TICK = sql`interval '1 microsecond'`;
const instant = (at: string): SQL => sql`${at}::timestamptz`;
const dayOf = (at: string, more = sql``): SQL => sql`(${instant(at)} at time zone 'UTC' ${more})::date`;

function eventsIn(scope: CostScope, from: SQL, to: SQL): SQL {
  return sql`select (e.occurred_at at time zone 'UTC')::date, e.agent_id, e.project_id, e.model, e.cost_usd,
      case when e.price_estimated then e.cost_usd else 0 end, e.input_tokens, e.output_tokens, (e.run_id is not null)::int
    from cost_events e where ${isOf('e', scope)} and e.occurred_at >= ${from} and e.occurred_at < ${to}`;
}

const isOf = (alias: string, scope: CostScope): SQL =>
  'agent_id' in scope
    ? sql`${sql.raw(alias)}.agent_id = ${scope.agent_id}`
    : sql`${sql.raw(alias)}.company_id = ${scope.company_id}`;
