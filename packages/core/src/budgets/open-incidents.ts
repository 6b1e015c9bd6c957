import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { dollars, stated } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import { inArray, type SQL, sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { budgetWindowStart } from '../agents/index.ts';
import { type IncidentRow, presentIncident } from './present.ts';
import { dueIncident } from './windows.ts';

const { budget_incidents } = schema;
const budgets = systemActor('budgets');

/**
 * Opens incidents that are due: a breach at the limit, a warning at its percentage. A breach takes the place of an open warning.
 * Notifies admins; the job `settle-budgets` pauses the agents of a breached `pause` policy, and new runs are refused from this
 * commit on.
 * @param which condition on the policy `p`
 * @returns how many were opened
 */
export async function openIncidents(tx: Tx, which: SQL): Promise<number> {
  // An open incident of an earlier window would block this window's.
  await rollOver(tx, which);
  const { rows } = await tx.execute<Opened>(sql`
    with due as materialized (
      select p.id as policy_id, p.company_id, p.limit_usd, w.spent_usd, w.window_start,
        ${dueIncident(sql`w.spent_usd`, sql`w.window_start`)} as kind
      from budget_policies p join budget_windows w on w.policy_id = p.id and w.window_start = ${budgetWindowStart}
      where p.enabled and ${which}
      order by p.id for key share of p
    )
    insert into budget_incidents (company_id, policy_id, kind, spent_usd, limit_usd, window_start)
    select company_id, policy_id, kind, spent_usd, limit_usd, window_start from due where kind is not null
    order by policy_id on conflict do nothing
    returning id,
      (select p.action = 'pause' from budget_policies p where p.id = policy_id) as pauses,
      (select case p.scope_type
          when 'agent' then (select 'agent ' || a.name from agents a where a.id = p.scope_id)
          when 'project' then (select 'project ' || x.name from projects x where x.id = p.scope_id)
          else p.scope_type end from budget_policies p where p.id = policy_id) as scope`);
  if (rows.length === 0) return 0;
  const opened = await incidentsByIds(
    tx,
    rows.map(({ id }) => id),
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  await recordChanges(
    tx,
    budgets,
    opened.flatMap((row) => openedChanges(row, byId.get(row.id)?.scope ?? 'company')),
  );
  const breaches = opened.filter(({ kind }) => kind === 'breach');
  if (breaches.length > 0) await resolveUntrue(tx, budgets, which, stated('the budget is used up'));
  await settleLater(
    tx,
    breaches.filter(({ id }) => byId.get(id)?.pauses === true),
  );
  return opened.length;
}

/**
 * Resolves incidents left open by windows that have ended, and has their agents resumed.
 * @param which condition on the policy `p`
 * @returns how many
 */
export async function rollOver(tx: Tx, which: SQL): Promise<number> {
  return resolveOpen(
    tx,
    budgets,
    sql`${which} and b.window_start <> ${budgetWindowStart}`,
    stated('the window rolled over'),
  );
}

/**
 * Resolves open incidents that no longer say what is so: the policy is disabled, spending is below its limit (or percentage), or
 * a warning's limit has been reached since.
 * @param which condition on the policy `p`
 */
export async function resolveUntrue(tx: Tx, actor: Actor, which: SQL, note: string): Promise<void> {
  const is_true = sql`exists (select from budget_windows w
    where w.policy_id = p.id and w.window_start = b.window_start and p.enabled and case b.kind
      when 'breach' then w.spent_usd >= p.limit_usd
      else w.spent_usd >= p.limit_usd * p.warn_percent / 100 and w.spent_usd < p.limit_usd end)`;
  await resolveOpen(tx, actor, sql`${which} and not ${is_true}`, note);
}

/**
 * Resolves open incidents, and has the agents of their breaches settled.
 * @param which condition on the incident `b` and its policy `p`
 * @returns how many
 */
async function resolveOpen(tx: Tx, actor: Actor, which: SQL, note: string): Promise<number> {
  const user_id = actor.kind === 'user' ? actor.user_id : null;
  const { rows } = await tx.execute<{ id: string }>(sql`
    with found as materialized (
      select b.id from budget_incidents b join budget_policies p on p.id = b.policy_id
      where b.status = 'open' and ${which}
      order by b.id for no key update of b skip locked
    )
    update budget_incidents b set status = 'resolved', resolved_at = now(), resolved_by_user_id = ${user_id}::uuid, note = ${note}
    from found where found.id = b.id
    returning b.id`);
  if (rows.length === 0) return 0;
  const resolved = await incidentsByIds(
    tx,
    rows.map(({ id }) => id),
  );
  await recordChanges(tx, actor, resolved.map(resolvedChange));
  await settleLater(
    tx,
    resolved.filter(({ kind }) => kind === 'breach'),
  );
  return resolved.length;
}

/** Pauses agents in a separate transaction, since agents are locked before policies. */
export async function settleLater(tx: Tx, of: readonly { company_id: string }[]): Promise<void> {
  const ids = new Set(of.map(({ company_id }) => company_id));
  await enqueueMany(
    tx,
    'settle-budgets',
    [...ids].map((company_id) => ({ company_id })),
  );
}

/** Whether the company of the policy `p` is not in the trash. */
export const inLiveCompany = sql`exists (select from companies c where c.id = p.company_id and c.deleted_at is null)`;

/** Whether a window with an open incident has ended; part of a statement that runs frequently. */
export const rolloverDue = sql`exists (select from budget_incidents b join budget_policies p on p.id = b.policy_id
  where b.status = 'open' and b.window_start <> ${budgetWindowStart} and ${inLiveCompany})`;

async function incidentsByIds(tx: Tx, ids: string[]): Promise<IncidentRow[]> {
  return tx
    .select()
    .from(budget_incidents)
    .where(inArray(budget_incidents.id, ids))
    .orderBy(budget_incidents.opened_at, budget_incidents.id);
}

interface Opened extends Record<string, unknown> {
  id: string;
  pauses: boolean;
  /** `agent Ada`; null for one that was deleted for good. */
  scope: string | null;
}

function openedChanges(row: IncidentRow, scope: string): Change[] {
  const breach = row.kind === 'breach';
  const { company_id, policy_id } = row;
  const incident = presentIncident(row);
  const details = { policy_id, spent_usd: incident.spent_usd, limit_usd: incident.limit_usd };
  const message = `${scope}: budget ${breach ? 'used up' : 'nearly used up'}: ${dollars(incident.spent_usd)} of ${dollars(incident.limit_usd)}`;
  const entity = { entity_type: 'budget_incident', entity_id: row.id };
  return [
    {
      company_id,
      ...entity,
      action: breach ? 'budget.breached' : 'budget.warned',
      details,
      event: { type: breach ? 'budget_breached' : 'budget_incident', data: incident },
    },
    {
      company_id,
      ...entity,
      event: {
        type: 'notification',
        data: { topic: 'budget', level: breach ? 'error' : 'warning', message, ...entity },
      },
    },
  ];
}

export function resolvedChange(row: IncidentRow): Change {
  return {
    company_id: row.company_id,
    action: 'budget.resolved',
    entity_type: 'budget_incident',
    entity_id: row.id,
    details: { policy_id: row.policy_id, kind: row.kind, waived: row.waived, note: row.note },
    event: { type: 'budget_incident', data: presentIncident(row) },
  };
}
