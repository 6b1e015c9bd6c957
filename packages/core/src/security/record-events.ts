import type { SecurityEventKind } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

const { security_events } = schema;

/** Days that the log is kept unless a setting says otherwise. */
export const SECURITY_EVENTS_KEPT_DAYS = 365;

/** The origin of a request. */
export interface SignInPlace {
  address: string;
  user_agent: string | null;
}

export interface NewSecurityEvent {
  kind: SecurityEventKind;
  /** The subject, as far as known: an address that was entered, a key's label. */
  subject: string;
  company_id?: string | null;
  user_id?: string | null;
  key_id?: string | null;
  place?: SignInPlace | null;
  details?: Record<string, unknown>;
}

// Input of strangers is limited in length, and made acceptable to PostgreSQL.
const clean = (text: string | null | undefined, length: number): string | null =>
  text === null || text === undefined ? null : text.replaceAll('\0', '').slice(0, length);

export async function recordSecurityEvents(tx: Tx, events: readonly NewSecurityEvent[]): Promise<void> {
  if (events.length === 0) return;
  await tx.insert(security_events).values(
    events.map(({ kind, subject, company_id, user_id, key_id, place, details }) => ({
      kind,
      subject: clean(subject, 320)!,
      company_id,
      user_id,
      key_id,
      address: clean(place?.address, 100),
      user_agent: clean(place?.user_agent, 300),
      details: details ?? {},
    })),
  );
}

/** Retention. @returns number deleted, at most `batch` */
export async function deleteSecurityEventsBefore(tx: Tx, days: number, batch: number): Promise<number> {
  const { rowCount } = await tx.execute(sql`
    delete from security_events where id in (
      select id from security_events where created_at < now() - make_interval(days => ${days})
      order by created_at limit ${batch})`);
  return rowCount ?? 0;
}
