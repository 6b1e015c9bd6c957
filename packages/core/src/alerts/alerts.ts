import type { Actor, Alert, ListAlerts } from '@acp/contract';
import { newestFirst, type Page, schema, type Tx } from '@acp/db';
import { isUuid, notFound } from '@acp/kernel';
import { and, eq, getTableColumns, inArray, type SQL, sql } from 'drizzle-orm';
import { recordChanges, recordInstanceAct } from '../activity/index.ts';
import { ofLiveCompany } from '../companies/index.ts';
import type { AlertRow } from './check-conditions.ts';
import { presentAlert } from './present.ts';

const { alerts, companies } = schema;

const KEPT_DAYS = 90;
const DELETED_AT_ONCE = 1000;

/** Finds an alert of a company for the scope loader. */
export async function findAlert(
  tx: Tx,
  id: string,
): Promise<(AlertRow & { company_id: string }) | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(getTableColumns(alerts))
    .from(alerts)
    .innerJoin(companies, ofLiveCompany(alerts.company_id))
    .where(eq(alerts.id, id));
  return row && row.company_id !== null ? { ...row, company_id: row.company_id } : undefined;
}

/** Any alert, for the operator. @throws notFound */
export async function findAnyAlert(tx: Tx, id: string): Promise<AlertRow> {
  const [row] = isUuid(id) ? await tx.select().from(alerts).where(eq(alerts.id, id)) : [];
  if (!row) throw notFound();
  return row;
}

/** Newest first. @param company_id null: all companies and the instance */
export async function listAlerts(tx: Tx, company_id: string | null, query: ListAlerts): Promise<Page<Alert>> {
  const page = newestFirst(alerts.opened_at, alerts.id, query, 50);
  const rows = await tx
    .select()
    .from(alerts)
    .where(
      and(
        company_id === null ? undefined : eq(alerts.company_id, company_id),
        query.status && eq(alerts.status, query.status),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, ({ opened_at, id }) => ({ at: opened_at, id }), presentAlert);
}

/** Acknowledging it again changes nothing. */
export async function acknowledgeAlert(tx: Tx, actor: Actor, alert: AlertRow): Promise<Alert> {
  const by = actor.kind === 'user' ? actor.user_id : null;
  return change(tx, actor, alert, 'alert.acknowledged', {
    acknowledged_at: sql`coalesce(acknowledged_at, now())`,
    acknowledged_by_user_id: sql`case when acknowledged_at is null then ${by}::uuid else acknowledged_by_user_id end`,
  });
}

/** @param hours 0 unmutes it */
export async function muteAlert(tx: Tx, actor: Actor, alert: AlertRow, hours: number): Promise<Alert> {
  const until = hours === 0 ? null : sql`now() + make_interval(hours => ${hours})`;
  return change(tx, actor, alert, 'alert.muted', { muted_until: until }, { hours });
}

async function change(
  tx: Tx,
  actor: Actor,
  { id, company_id, kind }: AlertRow,
  action: string,
  set: Partial<Record<'acknowledged_at' | 'acknowledged_by_user_id' | 'muted_until', SQL | null>>,
  details: Record<string, unknown> = {},
): Promise<Alert> {
  const [row] = await tx.update(alerts).set(set).where(eq(alerts.id, id)).returning();
  if (!row) throw notFound();
  const said = { kind, ...details };
  if (company_id === null) await recordInstanceAct(tx, actor, action, { alert_id: id, ...said });
  else
    await recordChanges(tx, actor, [
      { company_id, action, entity_type: 'alert', entity_id: id, details: said },
    ]);
  return presentAlert(row);
}

/** Deletes a batch of alerts resolved long ago; firing ones stay. */
export async function deleteOldAlerts(tx: Tx): Promise<void> {
  const old = tx
    .select({ id: alerts.id })
    .from(alerts)
    .where(
      and(
        eq(alerts.status, 'resolved'),
        sql`${alerts.resolved_at} < now() - make_interval(days => ${KEPT_DAYS})`,
      ),
    )
    .limit(DELETED_AT_ONCE);
  await tx.delete(alerts).where(inArray(alerts.id, old));
}
