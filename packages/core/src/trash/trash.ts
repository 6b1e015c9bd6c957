import type { Actor, TrashEntry, TrashType } from '@acp/contract';
import { containing, newestFirst, type Page, schema, type Tx, type SearchRequest } from '@acp/db';
import { and, asc, eq, inArray, lt, type SQL, sql } from 'drizzle-orm';
import { actorColumns } from '../activity/index.ts';

const { trash_entries } = schema;

/** How long the trash is kept unless a setting says otherwise (decisions 7.6). */
export const TRASH_KEPT_DAYS = 30;

export type TrashRow = typeof trash_entries.$inferSelect;

export interface Trashed {
  type: TrashType;
  entity_id: string;
  company_id: string;
  /** The name under which people recognise it. */
  name: string;
}

/** Records who deleted the entity. The caller sets the row's `deleted_at` in the same transaction. */
export async function moveToTrash(tx: Tx, actor: Actor, trashed: Trashed): Promise<void> {
  const { type, entity_id, company_id, name } = trashed;
  await tx
    .insert(trash_entries)
    .values({ type, entity_id, company_id, name, deleted_by_user_id: actorColumns(actor).user_id });
}

/** Newest first; at most 1,000 or 4 MB unless a limit is given. */
export async function listTrash(
  tx: Tx,
  query: SearchRequest & { type?: TrashType; company_id?: string },
): Promise<Page<TrashEntry>> {
  const page = newestFirst(trash_entries.deleted_at, trash_entries.trash_id, query, null);
  const rows = tx
    .select()
    .from(trash_entries)
    .where(
      and(
        containing(query.q, [trash_entries.name]),
        page.where,
        query.type === undefined ? undefined : eq(trash_entries.type, query.type),
        query.company_id === undefined ? undefined : eq(trash_entries.company_id, query.company_id),
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, (row) => ({ at: row.deleted_at, id: row.trash_id }), present);
}

/** The entry, with its row locked: if two callers restore or purge concurrently, the second finds nothing. */
export async function lockTrashEntry(
  tx: Tx,
  wanted: { type: string; entity_id: string; trash_id: string },
): Promise<TrashRow | undefined> {
  return lockWhere(tx, wanted, eq(trash_entries.trash_id, wanted.trash_id));
}

/** The same for an entity of a known company, which is in the trash at most once. */
export async function lockTrashed(
  tx: Tx,
  wanted: Pick<Trashed, 'type' | 'entity_id' | 'company_id'>,
): Promise<TrashRow | undefined> {
  return lockWhere(tx, wanted, eq(trash_entries.company_id, wanted.company_id));
}

async function lockWhere(
  tx: Tx,
  { type, entity_id }: { type: string; entity_id: string },
  where: SQL,
): Promise<TrashRow | undefined> {
  const [row] = await tx
    .select()
    .from(trash_entries)
    .where(and(eq(trash_entries.entity_id, entity_id), eq(trash_entries.type, type), where))
    .for('update');
  return row;
}

/** The oldest entry older than `days` that is not in `except`. */
export async function findExpiredEntry(
  tx: Tx,
  days: number,
  except: readonly string[],
): Promise<Pick<TrashRow, 'trash_id'> | undefined> {
  const [row] = await tx
    .select({ trash_id: trash_entries.trash_id })
    .from(trash_entries)
    .where(
      and(
        lt(trash_entries.deleted_at, sql`now() - make_interval(days => ${days})`),
        sql`${trash_entries.trash_id} <> all(${sql.param(except)}::uuid[])`,
      ),
    )
    .orderBy(asc(trash_entries.deleted_at), asc(trash_entries.trash_id))
    .limit(1);
  return row;
}

/** The entry, with its row locked; undefined if it is gone, or locked by someone else. */
export async function lockFreeEntry(tx: Tx, trash_id: string): Promise<TrashRow | undefined> {
  const [row] = await tx
    .select()
    .from(trash_entries)
    .where(eq(trash_entries.trash_id, trash_id))
    .for('update', { skipLocked: true });
  return row;
}

/** Called after a restore or a purge: deletes all trash entries of the entities. */
export async function purgeOldTrash(tx: Tx, entity_ids: readonly string[]): Promise<void> {
  await tx.delete(trash_entries).where(inArray(trash_entries.entity_id, [...entity_ids]));
}

function present(row: TrashRow): TrashEntry {
  return {
    type: row.type as TrashType,
    entity_id: row.entity_id,
    trash_id: row.trash_id,
    company_id: row.company_id,
    name: row.name,
    deleted_by_user_id: row.deleted_by_user_id,
    deleted_at: row.deleted_at,
  };
}
