import type { AlertKind } from '@acp/contract';
import { rowReader, schema, type Tx } from '@acp/db';
import { inWords } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { companyConditions } from './company-conditions.ts';
import type { AlertLimits, Condition } from './condition.ts';
import { instanceConditions } from './instance-conditions.ts';

export type AlertRow = typeof schema.alerts.$inferSelect;

/** Changes found by a check, for notification. */
export interface AlertChanges {
  /** Newly firing, still firing after a day without acknowledgement, or now that it is not muted any more. */
  firing: AlertRow[];
  resolved: AlertRow[];
  /** Kinds of which admins have already been notified. */
  already_notified: ReadonlySet<AlertKind>;
}

/** Minimum interval between checks, across all schedulers. */
const EVERY_SEC = 15;
/** An alert is resolved if not seen for this long, so that a flickering condition is a single alert. */
const PASSED_SEC = 75;
/** An alert that fires this often within an hour is flapping: it is shown on the page, without further notifications in that hour. */
const FLAPPING = 3;

const alertRow = rowReader(schema.alerts);

/** The result of a check. */
export interface Findings {
  conditions: readonly Condition[];
  /** Some alert fires, so that it may have to be resolved. */
  firing: boolean;
}

/**
 * Checks all conditions, in two statements and without a transaction, on one scheduler at a time: claiming the check is a commit of
 * its own, and if two overlap nonetheless, `updateAlerts` opens and resolves each alert once.
 * @returns undefined if another scheduler has just checked
 */
export async function checkConditions(
  tx: Tx,
  by: string,
  limits: AlertLimits,
): Promise<Findings | undefined> {
  if (!(await isMine(tx, by))) return undefined;
  const kinds = [...instanceConditions, ...companyConditions];
  const each = kinds.map(
    ({ rows }, place) =>
      sql`(select coalesce(jsonb_agg(found), '[]') from (${rows(limits)}) found) as ${sql.raw(`kind_${place}`)}`,
  );
  const { rows } = await tx.execute<{ firing: boolean } & Record<string, Record<string, unknown>[]>>(sql`
    select exists (select from alerts where status = 'firing') as firing, ${sql.join(each, sql`, `)}`);
  const [found] = rows;
  const conditions = kinds.flatMap(({ condition }, place) =>
    (found?.[`kind_${place}`] ?? []).map((row) => condition(row as never)),
  );
  return { conditions, firing: found?.firing === true };
}

/** Whether `updateAlerts` would do anything. */
export const changesAlerts = ({ conditions, firing }: Findings): boolean => firing || conditions.length > 0;

/** Updates alerts according to a check, in a transaction in which everyone concerned is notified. */
export async function updateAlerts(tx: Tx, { conditions }: Findings): Promise<AlertChanges> {
  await seeAgain(tx, conditions);
  const opened = await open(tx, conditions);
  return {
    firing: [...opened, ...(await dueForReminder(tx))],
    resolved: await resolve(tx),
    already_notified: new Set(
      conditions.filter(({ already_notified }) => already_notified).map(({ kind }) => kind),
    ),
  };
}

async function isMine(tx: Tx, by: string): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    insert into alert_looks as l (id, looked_by) values (1, ${by})
    on conflict (id) do update set looked_at = now(), looked_by = excluded.looked_by
    where l.looked_at < now() - make_interval(secs => ${EVERY_SEC})`);
  return rowCount === 1;
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

/** Also those that nobody was told of when they came, once they are neither muted nor flapping any more. */
async function dueForReminder(tx: Tx): Promise<AlertRow[]> {
  const { rows } = await tx.execute(sql`
    update alerts a set told_at = now()
    where status = 'firing' and acknowledged_at is null and (muted_until is null or muted_until < now())
      and last_seen_at > now() - interval '1 second'
      and (told_at < now() - interval '1 day' or told_at is null and (select count(*) from alerts p
        where p.kind = a.kind and p.key = a.key and p.id <> a.id and p.opened_at > now() - interval '1 hour') < ${FLAPPING})
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
