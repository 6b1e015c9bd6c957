import {
  type Actor,
  createValidator,
  type CreateView,
  type SavedView,
  type UpdateView,
  ViewFilter,
} from '@acp/contract';
import {
  byCreation,
  isUniqueViolation,
  lockByName,
  newestFirst,
  type Page,
  type PageRequest,
  schema,
  type Tx,
} from '@acp/db';
import { conflict, forbidden, isUuid, notFound, said } from '@acp/kernel';
import { and, eq, or, sql } from 'drizzle-orm';
import { actorId, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';

const { saved_views } = schema;
type ViewRow = typeof saved_views.$inferSelect;

const checked = createValidator(ViewFilter, 'saved filter');
const known = new Set(Object.keys(ViewFilter.properties));
/** Stored filters may contain fields that were never used, since these have not always been rejected. */
const filterOf = (stored: unknown): ViewFilter =>
  checked(Object.fromEntries(Object.entries(stored as object).filter(([name]) => known.has(name))));

/** Maximum per owner and company; with more, no one finds anything. */
const MOST_VIEWS = 100;

/** Finds a view for the scope loader: undefined if absent, or if it belongs to another owner and is not shared. */
export async function findView(tx: Tx, id: string, actor: Actor): Promise<ViewRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select()
    .from(saved_views)
    .where(and(eq(saved_views.id, id), shownTo(actor)));
  return row;
}

const shownTo = (actor: Actor) => or(eq(saved_views.shared, true), eq(saved_views.owner_id, ownerId(actor)));

function ownerId(actor: Actor): string {
  const id = actorId(actor);
  if (id === null) throw forbidden('only people have views');
  return id;
}

/** The actor's own and shared ones, newest first. */
export async function listViews(
  tx: Tx,
  actor: Actor,
  company_id: string,
  query: PageRequest,
): Promise<Page<SavedView>> {
  const page = newestFirst(saved_views.created_at, saved_views.id, query, null);
  const rows = tx
    .select()
    .from(saved_views)
    .where(and(eq(saved_views.company_id, company_id), shownTo(actor), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentView);
}

/** @throws conflict for a name that the actor has already used in the company, and above the maximum */
export async function createView(
  tx: Tx,
  actor: Actor,
  company_id: string,
  { name, layout = 'list', filter = {}, shared = false }: CreateView,
): Promise<SavedView> {
  const owner_id = ownerId(actor);
  const mine = and(eq(saved_views.company_id, company_id), eq(saved_views.owner_id, owner_id));
  await lockByName(tx, `views of ${owner_id} in ${company_id}`);
  if ((await tx.$count(saved_views, mine)) >= MOST_VIEWS)
    throw conflict(said`there are already ${MOST_VIEWS} views`);
  await assertRoom(tx, 'saved_views', company_id);
  const values = { company_id, owner_id, name: name.trim(), layout, filter, shared };
  const row = await uniquelyNamed(async () => (await tx.insert(saved_views).values(values).returning())[0]!);
  await record(tx, actor, row, 'view.created');
  return presentView(row);
}

/** @throws conflict for a name that its owner has already used */
export async function updateView(tx: Tx, actor: Actor, view: ViewRow, input: UpdateView): Promise<SavedView> {
  const named = input.name === undefined ? {} : { name: input.name.trim() };
  const [row] = await uniquelyNamed(async () =>
    tx
      .update(saved_views)
      .set({ ...input, ...named, updated_at: sql`now()` })
      .where(eq(saved_views.id, view.id))
      .returning(),
  );
  if (!row) throw notFound();
  await record(tx, actor, row, 'view.updated');
  return presentView(row);
}

export async function deleteView(tx: Tx, actor: Actor, view: ViewRow): Promise<void> {
  const [row] = await tx.delete(saved_views).where(eq(saved_views.id, view.id)).returning();
  if (!row) throw notFound();
  await record(tx, actor, row, 'view.deleted');
}

const OWNERLESS_BATCH = 2000;

/** Deletes unshared views of those who have left: nobody can see or delete them any more. */
export async function deleteOwnerlessViews(tx: Tx): Promise<void> {
  await tx.execute(sql`
    delete from saved_views where id in (
      select v.id from saved_views v where not v.shared
        and not exists (select from users u where u.id = v.owner_id and (u.instance_role = 'admin'
          or exists (select from memberships m where m.company_id = v.company_id and m.user_id = u.id)))
        and not exists (select from board_user_keys k where k.id = v.owner_id)
        and not exists (select from agents a where a.id = v.owner_id and a.status <> 'terminated')
      limit ${OWNERLESS_BATCH})`);
}

async function uniquelyNamed<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (isUniqueViolation(error, 'saved_views_name')) throw conflict('name is already in use');
    throw error;
  }
}

/** Changes of unshared views are not recorded: they concern no one else. */
async function record(tx: Tx, actor: Actor, row: ViewRow, action: string): Promise<void> {
  if (!row.shared) return;
  await recordChanges(tx, actor, [
    {
      company_id: row.company_id,
      action,
      entity_type: 'view',
      entity_id: row.id,
      details: { name: row.name },
    },
  ]);
}

function presentView(row: ViewRow): SavedView {
  return {
    id: row.id,
    company_id: row.company_id,
    owner_id: row.owner_id,
    name: row.name,
    layout: row.layout as SavedView['layout'],
    filter: filterOf(row.filter),
    shared: row.shared,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
