import type { AlertKind } from '@acp/contract';
import { rowReader, schema, type Tx } from '@acp/db';
import { inWords } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { companyConditions } from './company-conditions.ts';
import { type AlertLimits, type Condition, MOST_OF_A_KIND } from './condition.ts';
import { instanceConditions } from './instance-conditions.ts';

export type AlertRow = typeof schema.alerts.$inferSelect;

/** What a look found changed, and what somebody is to be told of. */
export interface Look {
  /** Began to fire, or fire still after a day in which nobody saw to them. */
  firing: AlertRow[];
  resolved: AlertRow[];
  /** Kinds of which admins have been notified already. */
  told: ReadonlySet<AlertKind>;
}

/** Whoever looked last did so within this time: nobody else needs to. */
const EVERY_SEC = 15;
/** What was not found for so long has passed: one that flickers is one alert. */
const PASSED_SEC = 75;
/** What came so often within an hour comes and goes: it stands on the page, and nobody is told again. */
const FLAPPING = 3;

const alertRow = rowReader(schema.alerts);

/**
 * Looks what stands, and writes alerts accordingly; in a transaction, by one scheduler at a time.
 * @returns undefined where another one has looked just now
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

/** The row is the lease: whoever moves it on looks, and holds it until the look is written. */
async function isMine(tx: Tx, by: string): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    insert into alert_looks as l (id, looked_by) values (1, ${by})
    on conflict (id) do update set looked_at = now(), looked_by = excluded.looked_by
    where l.looked_at < now() - make_interval(secs => ${EVERY_SEC})`);
  return rowCount === 1;
}

/** All that stands now. One statement or two for each kind. */
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

/** A mute of what was the same thing holds for what comes next. */
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

/** Whoever was told of it is told that it has passed. */
async function resolve(tx: Tx): Promise<AlertRow[]> {
  const { rows } = await tx.execute(sql`
    update alerts set status = 'resolved', resolved_at = now()
    where status = 'firing' and last_seen_at < now() - make_interval(secs => ${PASSED_SEC})
    returning *, told_at is not null and (muted_until is null or muted_until < now()) as heard`);
  return rows.filter(({ heard }) => heard === true).map((row) => alertRow(row));
}
