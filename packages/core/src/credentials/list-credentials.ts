import type { CredentialKind, MadeCredential } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';

// Names the columns of the union below.
const made = alias(schema.agent_api_keys, 'made');

/**
 * Everything that users answer for, one row each; each part reads its table's index on the user.
 * @param users an SQL comparison: `= …` or `in (…)`
 */
const madeBy = (users: SQL) => sql`(
  select 'board_user_key' as kind, k.id, k.company_id, coalesce(k.label, k.key_prefix) as label, 'admin' as least_role,
    k.created_at, k.last_used_at, k.created_by_user_id
  from board_user_keys k where k.created_by_user_id ${users}
  union all
  select 'agent_key', k.id, k.company_id, a.name || ' – ' || coalesce(k.label, k.key_prefix),
    case when a.permissions @> '{"secrets.use": true}' then 'admin' else 'member' end, k.created_at, k.last_used_at, k.created_by_user_id
  from agent_api_keys k join agents a on a.id = k.agent_id where k.created_by_user_id ${users}
  union all
  select 'routine_trigger', t.id, t.company_id, r.name || coalesce(' – ' || t.label, ''), 'member', t.created_at, r.last_fired_at, t.created_by_user_id
  from routine_triggers t join routines r on r.id = t.routine_id and r.deleted_at is null
  where t.created_by_user_id ${users}
  union all
  select 'webhook', w.id, w.company_id, substring(w.url from '//([^/?#]*)'), 'admin', w.created_at, w.last_delivered_at, w.created_by_user_id
  from webhooks w where w.created_by_user_id ${users} and w.enabled
  union all
  select 'repository_webhook', p.id, p.company_id, p.name, 'admin', h.created_at, h.received_at, h.created_by_user_id
  from repository_webhooks h join projects p on p.id = h.project_id and p.deleted_at is null
  where h.created_by_user_id ${users}
  union all
  select 'worker', w.id, null, w.name, 'instance_admin', w.created_at, w.last_seen_at, w.created_by_user_id
  from workers w where w.created_by_user_id ${users} and w.status in ('approved', 'draining', 'pending_approval')
) made`;

/**
 * What works by itself and that the user answers for, newest first, 50 a page. What is disabled already is left out.
 * @param company_id null: in all companies, and workers
 */
export async function listCredentials(
  tx: Tx,
  user_id: string,
  company_id: string | null,
  query: PageRequest,
): Promise<Page<MadeCredential>> {
  const page = newestFirst(made.created_at, made.id, query, 50);
  if (!isUuid(user_id)) return page.cut([], place, present);
  const there =
    company_id === null
      ? sql`(made.company_id is null or exists (select from companies c where c.id = made.company_id and c.deleted_at is null))`
      : sql`made.company_id = ${company_id}`;
  const rows = await tx
    .select({
      kind: sql<CredentialKind>`made.kind`,
      id: sql<string>`made.id`,
      company_id: sql<string | null>`made.company_id`,
      label: sql<string>`made.label`,
      least_role: sql<MadeCredential['least_role']>`made.least_role`,
      created_at: sql<Date>`made.created_at`.mapWith(made.created_at),
      last_used_at: sql<Date | null>`made.last_used_at`.mapWith(made.last_used_at),
    })
    .from(madeBy(sql`= ${user_id}`))
    .where(page.where === undefined ? there : sql`${there} and ${page.where}`)
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, place, present);
}

const place = ({ created_at, id }: { created_at: Date; id: string }) => ({ at: created_at, id });

interface MadeRow extends Omit<MadeCredential, 'created_at' | 'last_used_at'> {
  created_at: Date;
  last_used_at: Date | null;
}

const present = ({ kind, id, company_id, label, least_role, created_at, last_used_at }: MadeRow) =>
  ({ kind, id, company_id, label, least_role, created_at, last_used_at }) satisfies MadeCredential;

/** How many credentials of a company each of the users answers for; users without any are missing. */
export async function countCredentials(
  tx: Tx,
  company_id: string,
  user_ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (user_ids.length === 0) return new Map();
  const ids = sql`in (select jsonb_array_elements_text(${JSON.stringify(user_ids)}::jsonb)::uuid)`;
  const { rows } = await tx.execute<{ user_id: string; number: number }>(sql`
    select made.created_by_user_id as user_id, count(*)::int as number from ${madeBy(ids)}
    where made.company_id = ${company_id} group by made.created_by_user_id`);
  return new Map(rows.map(({ user_id, number }) => [user_id, number]));
}

interface OrphanedCredential extends Record<string, unknown> {
  kind: CredentialKind;
  label: string;
  /** Null for workers. */
  company: string | null;
}

/**
 * Credentials whose answerable person could not create them any more: of people who had left before credentials ended with the
 * right to create them. Since then there are no new ones.
 */
export async function orphanedCredentials(tx: Tx, limit: number): Promise<OrphanedCredential[]> {
  const { rows } = await tx.execute<OrphanedCredential>(sql`
    select made.kind, made.label, c.slug as company
    from ${madeBy(sql`is not null`)}
    left join companies c on c.id = made.company_id
    left join users u on u.id = made.created_by_user_id and u.is_active
    left join memberships m on m.user_id = u.id and m.company_id = made.company_id
    where (made.company_id is null or c.deleted_at is null)
      and not coalesce(u.instance_role = 'admin' or m.role = 'admin' or (m.role = 'member' and made.least_role = 'member'), false)
    order by c.slug, made.kind, made.created_at limit ${limit}`);
  return rows;
}
