import { type Tx, schema } from '@acp/db';
import { and, asc, count, gt, inArray, isNull, lte, or, sql } from 'drizzle-orm';

const { events, event_sequence } = schema;

export type SequencedEvent = typeof events.$inferSelect;

/**
 * Events with a number above `after`, ascending.
 * @param companies only events of these companies (null: all, for the hub); events without a company need `instance_wide`
 */
export async function listEventsAfter(
  tx: Tx,
  after: number,
  options: { companies: readonly string[] | null; instance_wide: boolean; limit: number },
): Promise<SequencedEvent[]> {
  const tenant =
    options.companies === null
      ? undefined
      : or(
          inArray(events.company_id, [...options.companies]),
          options.instance_wide ? isNull(events.company_id) : sql`false`,
        );
  return tx
    .select()
    .from(events)
    .where(and(gt(events.seq, after), tenant))
    .orderBy(asc(events.seq))
    .limit(options.limit);
}

/** The number of events per type and company with numbers above `after`, up to and including `up_to`. */
export async function countEvents(
  tx: Tx,
  { after, up_to }: { after: number; up_to: number },
): Promise<{ company_id: string | null; type: string; count: number }[]> {
  return tx
    .select({ company_id: events.company_id, type: events.type, count: count() })
    .from(events)
    .where(and(gt(events.seq, after), lte(events.seq, up_to)))
    .groupBy(events.company_id, events.type);
}

const MOST_PENDING = 1000;

/**
 * The number of the newest event, 0 before the first. Events that were committed and not numbered yet are numbered first, so that
 * they do not come after it; numbering then waits for the end of this transaction.
 */
export async function lastSequence(tx: Tx): Promise<number> {
  await tx.execute(sql`select sequence_outbox(${MOST_PENDING})`);
  const [row] = await tx.select({ last: event_sequence.last }).from(event_sequence);
  return row?.last ?? 0;
}
