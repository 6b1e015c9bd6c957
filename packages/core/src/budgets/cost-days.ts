/** What was spent within a span of time, whole days from their totals (`cost_day_sums`, `cost_days`), the rest from the cost events. */
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

/** What the totals of a company are summed up by. Of models there are the fewest. */
export type CostDimension = 'agent' | 'project' | 'model';
const dimensions: Readonly<Record<CostDimension, SQL>> = {
  agent: sql`coalesce(p.agent_id::text, '')`,
  project: sql`coalesce(p.project_id::text, '')`,
  model: sql`p.model`,
};

/**
 * A relation with `dimension`, `key` (empty for none), `day`, `cost_usd`, `estimated_usd`, `input_tokens`, `output_tokens` and `runs`, to
 * be summed up; everything is in it once for each dimension. The number of rows depends on how many days and keys there are, not on
 * how much they did, but for what was done in the last minutes, and for days that lie only partly within the span.
 */
function spentBy(company_id: string, by: readonly CostDimension[], span: Span): SQL {
  const names = sql.join(
    by.map((each) => sql.raw(`'${each}'`)),
    sql`, `,
  );
  const keys = by.map((each) => sql`(${sql.raw(`'${each}'`)}, ${dimensions[each]})`);
  const scope = { company_id };
  return sql`
    select d.dimension, d.key, d.day, d.cost_usd, d.estimated_usd, d.input_tokens, d.output_tokens, d.runs
    from cost_day_sums d where ${isOf('d', scope)} and d.dimension in (${names}) and ${isWithin(span)}
    union all
    select k.dimension, k.key, p.day, p.cost_usd, p.estimated_usd, p.input_tokens, p.output_tokens, p.runs
    from (${daysIn(scope, span)} and not d.merged union all ${eventsOfParts(scope, span)}) p
    cross join lateral (values ${sql.join(keys, sql`, `)}) k (dimension, key)`;
}

/** The same of an agent, which has few totals, without `dimension` and `key`. */
const spentByAgent = (agent_id: string, span: Span): SQL =>
  sql`${daysIn({ agent_id }, span)} union all ${eventsOfParts({ agent_id }, span)}`;

/** The first whole day that has complete totals. */
const firstDay = ({ first_day }: Span): SQL => sql`greatest(${first_day}, ${completeFrom('cost_days')})`;

const isWithin = (span: Span): SQL =>
  sql`d.day >= ${firstDay(span)} ${span.end_day === undefined ? sql`` : sql`and d.day < ${span.end_day}`}`;

const daysIn = (scope: CostScope, span: Span): SQL => sql`
  select d.day, d.agent_id, d.project_id, d.model, d.cost_usd, d.estimated_usd, d.input_tokens, d.output_tokens, d.runs
  from cost_days d where ${isOf('d', scope)} and ${isWithin(span)}`;

/** The events of days that have no total, or not all of which are within the span. */
function eventsOfParts(scope: CostScope, span: Span): SQL {
  const { from, end_day, to } = span;
  const first = firstDay(span);
  const untilFirst = to === undefined ? startOfDay(first) : sql`least(${startOfDay(first)}, ${to})`;
  const start = eventsIn(scope, from, untilFirst);
  return end_day === undefined || to === undefined
    ? start
    : sql`${start} union all ${eventsIn(scope, startOfDay(sql`greatest(${end_day}, ${first})`), to)}`;
}

/** Everything since the start of the day: `day` and the sums. */
export function spendingSince(scope: CostScope, day: SQL): SQL {
  const span = { from: startOfDay(day), first_day: day };
  return 'agent_id' in scope
    ? spentByAgent(scope.agent_id, span)
    : spentBy(scope.company_id, ['model'], span);
}

/**
 * By each of the dimensions.
 * @param from RFC 3339, inclusive; null: no limit @param to the same, exclusive
 */
export function spendingBetween(
  company_id: string,
  by: readonly CostDimension[],
  from: string | null,
  to: string | null,
): SQL {
  const since =
    from === null ? always : { from: instant(from), first_day: dayOf(from, sql`+ ${DAY} - ${TICK}`) };
  return spentBy(company_id, by, to === null ? since : { ...since, to: instant(to), end_day: dayOf(to) });
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
