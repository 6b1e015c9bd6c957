import type { AlertKind } from '@acp/contract';
import { rowReader, schema, type Tx } from '@acp/db';
import { inWords } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { companyConditions } from './company-conditions.ts';
import { type AlertLimits, type Condition, MOST_OF_A_KIND } from './condition.ts';
import { instanceConditions } from './instance-conditions.ts';

export type AlertRow = typeof schema.alerts.$inferSelect;

/** Changes found by a check, for notification. */
export interface Look {
  /** Newly firing, or still firing after a day without acknowledgement. */
  firing: AlertRow[];
  resolved: AlertRow[];
  /** Kinds of which admins have already been notified. */
  told: ReadonlySet<AlertKind>;
}

/** Minimum interval between checks, across all schedulers. */
const EVERY_SEC = 15;
/** An alert is resolved if not seen for this long, so that a flickering condition is a single alert. */
const PASSED_SEC = 75;
/** An alert that fires this often within an hour is flapping: it is shown on the page, without further notifications. */
const FLAPPING = 3;

const alertRow = rowReader(schema.alerts);

/**
 * Checks all conditions and updates alerts accordingly; in a transaction, by one scheduler at a time.
 * @returns undefined if another one has just checked
 */
export async function lookForAlerts(tx: Tx, by: string, limits: AlertLimits): Promise<Look | undefined> {
  if (!(await isMine(tx, by))) return undefined;
  const found = await readConditions(tx, limits);
  await seeAgain(tx, found);
  const opened = await open(tx, found);
  return {
    firing: [...opened, ...(await dueForReminder(tx))],
    resolved: await resolve(tx),
    told: new Set(found.filter(({ told }) => told).map(({ kind }) => kind)),
  };
}

/** The row is the lease: updating it claims the check, and locks it until the results are committed. */
async function isMine(tx: Tx, by: string): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    insert into alert_looks as l (id, looked_by) values (1, ${by})
    on conflict (id) do update set looked_at = now(), looked_by = excluded.looked_by
    where l.looked_at < now() - make_interval(secs => ${EVERY_SEC})`);
  return rowCount === 1;
}

/** All current conditions. One or two statements per kind. */
async function readConditions(tx: Tx, limits: AlertLimits): Promise<Condition[]> {
  const found: Condition[] = [];
  for (const read of [...instanceConditions, ...companyConditions])
    found.push(...(await read(tx, limits)).slice(0, MOST_OF_A_KIND));
  return found;
}

const conditionsOf = (found: readonly Condition[]) => sql`
  c as (select * from jsonb_to_recordset(${JSON.stringify(found.map((each) => ({ ...each, said: each.message, message: inWords(each.message) })))}::jsonb) as c(
    kind text, key text, level text, message text, said jsonb, company_id uuid, entity_type text, entity_id uuid))`;

async function seeAgain(tx: Tx, found: readonly Condition[]): Promise<void> {
  await tx.execute(sql`
    with ${conditionsOf(found)}
    update alerts a set last_seen_at = now(), level = c.level, message = c.message, said = c.said
    from c where a.kind = c.kind and a.key = c.key and a.status = 'firing'`);
}

/** A mute also applies to later alerts of the same kind and key. */
async function open(tx: Tx, found: readonly Condition[]): Promise<AlertRow[]> {
  const { rows } = await tx.execute(sql`
    with ${conditionsOf(found)}
    insert into alerts (kind, key, level, message, said, company_id, entity_type, entity_id, muted_until, told_at)
    select c.kind, c.key, c.level, c.message, c.said, c.company_id, c.entity_type, c.entity_id, before.muted_until,
      case when before.muted_until is null and before.times < ${FLAPPING} then now() end
    from c cross join lateral (
      select max(p.muted_until) filter (where p.muted_until > now()) as muted_until,
        count(*) filter (where p.opened_at > now() - interval '1 hour') as times
      from alerts p where p.kind = c.kind and p.key = c.key
    ) before
    on conflict (kind, key) where status = 'firing' do nothing
    returning *`);
  return rows.map((row) => alertRow(row)).filter(({ told_at }) => told_at !== null);
}

async function dueForReminder(tx: Tx): Promise<AlertRow[]> {
  const { rows } = await tx.execute(sql`
    update alerts set told_at = now()
    where status = 'firing' and told_at < now() - interval '1 day' and acknowledged_at is null
      and (muted_until is null or muted_until < now())
      and last_seen_at > now() - interval '1 second'
    returning *`);
  return rows.map((row) => alertRow(row));
}

/** Returns only alerts whose recipients were notified that they fire. */
async function resolve(tx: Tx): Promise<AlertRow[]> {
  const { rows } = await tx.execute(sql`
    update alerts set status = 'resolved', resolved_at = now()
    where status = 'firing' and last_seen_at < now() - make_interval(secs => ${PASSED_SEC})
    returning *, told_at is not null and (muted_until is null or muted_until < now()) as heard`);
  return rows.filter(({ heard }) => heard === true).map((row) => alertRow(row));
}
