import { type SQL, sql } from 'drizzle-orm';

const parents = { issues: 'parent_issue_id', goals: 'parent_goal_id' } as const;

/**
 * Condition on a row of a tree: neither in the trash nor under one that is (decisions 7.6: children are not trashed one by
 * one, they come back with their parent). A row without a parent costs nothing. `union` ends at a circle, which no command
 * makes.
 * @param row alias of the table in the statement
 */
export function inNoTrash(table: keyof typeof parents, row: string = table): SQL {
  const [tree, alias, parent] = [table, row, parents[table]].map((name) => sql.identifier(name));
  return sql`${alias}.deleted_at is null and (${alias}.${parent} is null or not exists (
    with recursive above as (
      select p.id, p.${parent}, p.deleted_at from ${tree} p where p.id = ${alias}.${parent}
      union
      select p.id, p.${parent}, p.deleted_at from above join ${tree} p on p.id = above.${parent}
      where above.deleted_at is null
    ) select from above where deleted_at is not null))`;
}
