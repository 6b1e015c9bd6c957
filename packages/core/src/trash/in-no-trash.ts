import { type Placeholder, type SQL, sql } from 'drizzle-orm';

const parents = { issues: 'parent_issue_id', goals: 'parent_goal_id' } as const;
export type Tree = keyof typeof parents;

/** Maximum depth of a tree, enforced when entities are created or moved, so no walk has to go further. */
export const DEEPEST = 64;

/** `id` and `deleted_at` of all ancestors of a row, and `depth`: 1 is the parent. Also stops at a cycle. */
function above(table: Tree, parent_id: SQL): SQL {
  const [tree, parent] = [table, parents[table]].map((name) => sql.identifier(name));
  return sql`above as (
      select p.id, p.${parent}, p.deleted_at, 1 as depth from ${tree} p where p.id = ${parent_id}
      union all
      select p.id, p.${parent}, p.deleted_at, above.depth + 1 from above join ${tree} p on p.id = above.${parent}
      where above.deleted_at is null and above.depth < ${DEEPEST}
    )`;
}

/**
 * Condition on a row of a tree: neither it nor an ancestor is in the trash (decisions 7.6: children are not trashed one by one,
 * and return with their parent). Free for a row without a parent.
 * @param row alias of the table in the statement
 */
export function inNoTrash(table: Tree, row: string = table): SQL {
  const [alias, parent] = [row, parents[table]].map((name) => sql.identifier(name));
  return sql`${alias}.deleted_at is null and (${alias}.${parent} is null or not exists (
    with recursive ${above(table, sql`${alias}.${parent}`)} select from above where deleted_at is not null))`;
}

const trashTypes = { issues: 'issue', goals: 'goal' } as const;

/**
 * A select of the ids of all that is in the trash of the company or below something in it: for counts of everything, which leave
 * these out. To look for the ancestors of each row takes several times as long as to count the rows.
 */
export function idsInTrash(table: Tree, company_id: string): SQL {
  const [tree, parent] = [table, parents[table]].map((name) => sql.identifier(name));
  return sql`select id from (
    with recursive below as (
      select gone.entity_id as id from trash_entries gone
      where gone.company_id = ${company_id} and gone.type = ${trashTypes[table]}
      union
      select child.id from below join ${tree} child on child.${parent} = below.id
    ) select id from below) in_trash`;
}

/** Condition: something with that many levels may be placed below the parent. */
export function hasRoomBelow(table: Tree, parent_id: string | Placeholder, levels = 1): SQL {
  return sql`(with recursive ${above(table, sql`${parent_id}::uuid`)}
    select coalesce(max(depth), 0) + ${levels} <= ${DEEPEST} from above)`;
}

/** Number of levels of the row and its descendants: 1 for a row without children. */
export function levelsFrom(table: Tree, id: string): SQL<number> {
  const [tree, parent] = [table, parents[table]].map((name) => sql.identifier(name));
  return sql<number>`(with recursive below as (
      select ${id}::uuid as id, 1 as depth
      union all
      select child.id, below.depth + 1 from below join ${tree} child on child.${parent} = below.id
      where below.depth <= ${DEEPEST}
    ) select max(depth) from below)`;
}
