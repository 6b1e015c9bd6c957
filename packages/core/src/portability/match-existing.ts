/** Finds the entities of a bundle that a company already has: by name, ignoring case. */
import type { CompanyBundle } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sha256Hex } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { inNoTrash } from '../trash/index.ts';
import { listOf } from './bundle-places.ts';

/** By list: ids of existing entities by the index of their twin in the bundle. */
export type Existing = ReadonlyMap<string, ReadonlyMap<number, string>>;

/**
 * Titles of issues need not be unique, and may change: imported ones are recognized by this, and those that the company's own
 * bundle was made of by title and instant of creation.
 */
export function originOf(
  bundle: CompanyBundle,
  issue: { slug: string; title: string; created_at?: Date | string | undefined },
): string {
  const { slug = '', name } = bundle.company;
  const source = [slug || name, issue.slug, issue.title, issue.created_at ?? ''];
  return `bundle:${sha256Hex(JSON.stringify(source)).slice(0, 32)}`;
}

function wantedOf(bundle: CompanyBundle) {
  const each = <T>(
    list: string,
    entities: readonly T[],
    key: (entity: T) => string,
    more: (entity: T) => { kind?: string; title?: string; at?: Date | string | undefined } = () => ({}),
  ) => entities.map((entity, index) => ({ list, index, key: key(entity), ...more(entity) }));
  return [
    ...each('labels', listOf(bundle, 'labels'), ({ name }) => name.trim()),
    ...each('providers', listOf(bundle, 'providers'), ({ label }) => label),
    ...each('skills', listOf(bundle, 'skills'), ({ slug }) => slug),
    ...each('agents', listOf(bundle, 'agents'), ({ name }) => name),
    ...each('goals', listOf(bundle, 'goals'), ({ title }) => title),
    ...each('projects', listOf(bundle, 'projects'), ({ name }) => name),
    ...each('routines', listOf(bundle, 'routines'), ({ name }) => name),
    ...each(
      'issues',
      listOf(bundle, 'issues'),
      (issue) => originOf(bundle, issue),
      ({ title, created_at }) => ({ title, at: created_at }),
    ),
    ...each(
      'notes',
      listOf(bundle, 'notes'),
      ({ title }) => title,
      ({ kind = 'note' }) => ({ kind }),
    ),
  ];
}

/**
 * One statement, whatever the number of entries. Of several matches, the oldest is used. The planner expects JSON to yield a
 * hundred rows, so nested loops would compare each of many thousands with every row of the company.
 */
export async function matchExisting(tx: Tx, company_id: string, bundle: CompanyBundle): Promise<Existing> {
  await tx.execute(sql`set local enable_nestloop = off`);
  const { rows } = await tx.execute<{ list: string; index: number; id: string }>(sql`
    with wanted as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(wantedOf(bundle))}::jsonb)
        as w(list text, index int, key text, kind text, title text, at timestamptz)
    ), found as (
      select w.list, w.index, t.id, t.created_at from wanted w join labels t
        on w.list = 'labels' and t.company_id = ${company_id} and lower(t.name) = lower(w.key)
      union all
      select w.list, w.index, t.id, t.created_at from wanted w join providers t
        on w.list = 'providers' and t.company_id = ${company_id} and lower(t.name) = lower(w.key)
      union all
      select w.list, w.index, t.id, t.created_at from wanted w join skills t
        on w.list = 'skills' and t.company_id = ${company_id} and t.slug = w.key and t.deleted_at is null
      union all
      select w.list, w.index, t.id, t.created_at from wanted w join agents t
        on w.list = 'agents' and t.company_id = ${company_id} and lower(t.name) = lower(w.key)
          and t.deleted_at is null and t.parent_agent_id is null and t.status <> 'terminated'
      union all
      select w.list, w.index, goals.id, goals.created_at from wanted w join goals
        on w.list = 'goals' and goals.company_id = ${company_id} and lower(goals.title) = lower(w.key)
          and ${inNoTrash('goals')}
      union all
      select w.list, w.index, t.id, t.created_at from wanted w join projects t
        on w.list = 'projects' and t.company_id = ${company_id} and lower(t.name) = lower(w.key)
          and t.deleted_at is null
      union all
      select w.list, w.index, t.id, t.created_at from wanted w join routines t
        on w.list = 'routines' and t.company_id = ${company_id} and lower(t.name) = lower(w.key)
          and t.deleted_at is null
      union all
      select w.list, w.index, issues.id, issues.created_at from wanted w join issues
        on w.list = 'issues' and issues.company_id = ${company_id} and issues.origin_kind = 'import'
          and issues.origin_id = w.key and ${inNoTrash('issues')}
      union all
      select w.list, w.index, issues.id, issues.created_at from wanted w join issues
        on w.list = 'issues' and issues.company_id = ${company_id} and issues.created_at = w.at
          and issues.title = w.title and ${inNoTrash('issues')}
      union all
      select w.list, w.index, t.id, t.created_at from wanted w join notes t
        on w.list = 'notes' and t.company_id = ${company_id} and lower(t.title) = lower(w.key)
          and t.kind = w.kind and t.deleted_at is null
    )
    select distinct on (list, index) list, index, id from found order by list, index, created_at, id`);
  await tx.execute(sql`set local enable_nestloop = on`);
  const existing = new Map<string, Map<number, string>>();
  for (const { list, index, id } of rows)
    existing.set(list, (existing.get(list) ?? new Map<number, string>()).set(index, id));
  return existing;
}
