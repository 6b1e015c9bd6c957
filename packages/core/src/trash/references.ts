/**
 * References between entities (decisions 10.6): an id is shown while its target exists, and reads as null while the target is in
 * the trash. It stays in the row, so that a restored entity is where it was; purging clears it.
 */
import type { Tx } from '@acp/db';
import { invalid, said, saidValue } from '@acp/kernel';
import { getTableColumns, getTableName, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { DEEPEST, hasRoomBelow, inNoTrash, type Tree } from './in-no-trash.ts';

const named = { agents: 'agent', projects: 'project', goals: 'goal', issues: 'issue' } as const;
type Target = keyof typeof named;

/** Columns that reference entities which may be in the trash. Authors and other history keep their ids. */
const references = {
  issues: {
    project_id: 'projects',
    goal_id: 'goals',
    parent_issue_id: 'issues',
    assignee_agent_id: 'agents',
    checked_out_by_agent_id: 'agents',
    blocked_by_agent_id: 'agents',
  },
  projects: { goal_id: 'goals', lead_agent_id: 'agents' },
  goals: { parent_goal_id: 'goals', owner_agent_id: 'agents' },
  routines: { assignee_agent_id: 'agents', project_id: 'projects', goal_id: 'goals' },
  agents: { reports_to: 'agents', parent_agent_id: 'agents' },
  notes: { issue_id: 'issues' },
  approvals: { issue_id: 'issues' },
  work_products: { project_id: 'projects' },
  routine_runs: { issue_id: 'issues' },
  heartbeat_runs: { issue_id: 'issues' },
  workspaces: { project_id: 'projects' },
  chats: { agent_id: 'agents' },
  channels: { default_agent_id: 'agents' },
  compile_settings: { agent_id: 'agents' },
} as const satisfies Record<string, Record<string, Target>>;

type Referring = keyof typeof references;
type Column<T extends Referring> = keyof (typeof references)[T] & string;

const isThere = (target: Target): SQL =>
  target === 'goals' || target === 'issues' ? inNoTrash(target, 'named') : sql`named.deleted_at is null`;

/** The column as shown to clients: a primary key lookup, none if it is null. */
function shown(target: Target, column: SQL): SQL {
  return sql`(select named.id from ${sql.identifier(target)} named where named.id = ${column} and ${isThere(target)})`;
}

const columnsOf = (table: Referring): [string, Target][] => Object.entries(references[table]);

/** In a tree, rows are in the trash along with their ancestors. */
const isParent = (table: Referring, target: Target): target is Tree =>
  target === table && target !== 'agents';

/** Parents always exist: a row below a missing one is not visible either. */
const shownOf = (table: Referring): [string, Target][] =>
  columnsOf(table).filter(([, target]) => !isParent(table, target));

/**
 * Columns for drizzle to select or return, in place of the table's own. The statement must use the table under its own name.
 */
export function shownColumns<T extends PgTable>(table: T): T['_']['columns'] {
  const name = getTableName(table) as Referring;
  const shownAs = shownOf(name).map(([column, target]) => [
    column,
    shown(target, sql`${sql.identifier(name)}.${sql.identifier(column)}`).as(column),
  ]);
  return { ...getTableColumns(table), ...Object.fromEntries(shownAs) } as T['_']['columns'];
}

/**
 * The same for hand-written statements: all columns of the row, with references replaced.
 * @param row alias of the table in the statement
 * @param columns the columns to select; by default all, in which case a reference's name appears twice, with the shown value last
 */
export function shownRow(table: Referring, row: string, columns?: readonly string[]): SQL {
  const alias = sql.identifier(row);
  const plain = (column: string) => sql`${alias}.${sql.identifier(column)}`;
  const replaced = shownOf(table)
    .filter(([column]) => columns?.includes(column) ?? true)
    .map(([column, target]) => sql`${shown(target, plain(column))} as ${sql.identifier(column)}`);
  const others = columns?.filter((column) => !shownOf(table).some(([name]) => name === column)).map(plain);
  return sql.join([...(others ?? [sql`${alias}.*`]), ...replaced], sql`, `);
}

/**
 * The input without null references that were also read as null: writing back what was read does not remove references to
 * trashed entities.
 */
export function withoutUnchanged<I extends object>(table: Referring, row: object, input: I): I {
  const unchanged = ([name, value]: [string, unknown]) =>
    value === null && name in references[table] && Reflect.get(row, name) === null;
  return Object.fromEntries(Object.entries(input).filter((entry) => !unchanged(entry))) as I;
}

export type Named<T extends Referring> = { readonly [K in Column<T>]?: string | null | undefined };

/** The same, or in place of each id a placeholder for it. */
type NamedOrPlaced<T extends Referring> = {
  readonly [K in Column<T>]?: string | Placeholder | null | undefined;
};

/**
 * Select list with two booleans per column, for `assertKnown`: whether it names an entity of the company, and whether a parent
 * has room for another level. References that the row already has are always accepted: their targets may be in the trash by now.
 * @param row_id of the row being changed; absent for a new one
 */
export function knownReferences<T extends Referring>(
  table: T,
  company_id: string | Placeholder,
  input: NamedOrPlaced<T>,
  row_id?: string,
): SQL {
  const checks = columnsOf(table).map(([column, target]) => {
    const id = (input as Record<string, string | Placeholder | null | undefined>)[column];
    const known = id ? knownTo(table, company_id, { column, target, id, row_id }) : sql`true`;
    const room = id && isParent(table, target) ? hasRoomBelow(target, id) : sql`true`;
    return sql`${known} as ${sql.identifier(`${column}_known`)}, ${room} as ${sql.identifier(`${column}_room`)}`;
  });
  return sql.join(checks, sql`, `);
}

function knownTo(
  table: Referring,
  company_id: string | Placeholder,
  { column, target, id, row_id }: { column: string; target: Target; id: unknown; row_id: string | undefined },
): SQL {
  const there = sql`exists (select from ${sql.identifier(target)} named
    where named.id = ${id} and named.company_id = ${company_id} and ${isThere(target)})`;
  if (row_id === undefined) return there;
  return sql`(${there} or exists (select from ${sql.identifier(table)} was
    where was.id = ${row_id} and was.${sql.identifier(column)} = ${id}))`;
}

/** True if all of them are valid, in a statement with the select list. */
export const allKnown = (table: Referring): SQL =>
  sql.join(
    columnsOf(table).flatMap(([column]) =>
      [`${column}_known`, `${column}_room`].map((name) => sql.identifier(name)),
    ),
    sql` and `,
  );

/** Absent, trashed and foreign entities are treated alike, so nothing leaks. @throws invalid naming the field */
export function assertKnown(table: Referring, checked: Record<string, unknown>): void {
  for (const [column, target] of columnsOf(table)) {
    if (checked[`${column}_known`] === false)
      throw invalid(said`${column}: unknown ${saidValue(named[target])}`);
    if (checked[`${column}_room`] === false) throw invalid(said`${column}: at most ${DEEPEST} levels`);
  }
}

/** Both in one statement; none if there are no references. @throws invalid like `assertKnown` */
export async function assertReferences<T extends Referring>(
  tx: Tx,
  table: T,
  company_id: string,
  input: Named<T>,
  row_id?: string,
): Promise<void> {
  const ids = input as Record<string, unknown>;
  if (!columnsOf(table).some(([column]) => ids[column])) return;
  const { rows } = await tx.execute(sql`select ${knownReferences(table, company_id, input, row_id)}`);
  assertKnown(table, rows[0] ?? {});
}
