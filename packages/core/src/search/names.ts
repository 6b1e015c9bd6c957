/** The names of agents, projects, goals and labels, as people choose from them by typing. */
import { containing, type Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';

export type NamedKind = 'agent' | 'project' | 'goal' | 'label';

export interface Named {
  id: string;
  name: string;
  /** The name, with the beginning of the id if several are called that: it leads back to this one alone. */
  unique_name: string;
  /** An agent's role. */
  detail: string | null;
  /** Null for a label. */
  status: string | null;
}

interface Source {
  table: SQL;
  name: SQL;
  /** Words that it is found by besides its name. */
  detail: SQL;
  status: SQL;
  /** Whether it can be chosen, rather than only be what was chosen before. */
  offered: SQL;
  /** Of all of them. */
  order: SQL;
}

const none = sql`null::text`;
const newest = sql`created_at desc, id desc`;

const sources: Record<NamedKind, Source> = {
  agent: {
    table: sql`agents`,
    name: sql`x.name`,
    detail: sql`x.role`,
    status: sql`x.status`,
    // Finished sub-agents receive no work.
    offered: sql`(x.deleted_at is null and not (x.parent_agent_id is not null and x.status = 'terminated'))`,
    order: sql`lower(name), id`,
  },
  project: {
    table: sql`projects`,
    name: sql`x.name`,
    detail: none,
    status: sql`x.status`,
    offered: sql`(x.deleted_at is null)`,
    order: newest,
  },
  goal: {
    table: sql`goals`,
    name: sql`x.title`,
    detail: none,
    status: sql`x.status`,
    offered: sql`(x.deleted_at is null)`,
    order: newest,
  },
  label: {
    table: sql`labels`,
    name: sql`x.name`,
    detail: none,
    status: none,
    offered: sql`true`,
    order: sql`lower(name), id`,
  },
};

/** All of a company that can be chosen, and those with the ids. */
function namesIn(company_id: string, kind: NamedKind, ids: readonly string[]): SQL {
  const { table, name, detail, status, offered } = sources[kind];
  return sql`(select x.id, ${name} as name, ${detail} as detail, ${status} as status, x.created_at, ${offered} as offered,
      (count(*) filter (where ${offered}) over (partition by lower(${name})) - ${offered}::int) > 0 as shared
    from ${table} x
    where x.company_id = ${company_id} and (${offered} or x.id = any(${sql.param([...ids])}::uuid[]))) named`;
}

interface Row extends Record<string, unknown>, Omit<Named, 'unique_name'> {
  shared: boolean;
}

async function read(tx: Tx, query: SQL): Promise<(Named & Row)[]> {
  const { rows } = await tx.execute<Row>(query);
  return rows.map((row) => ({
    ...row,
    unique_name: row.shared ? `${row.name} (${row.id.slice(0, 8)})` : row.name,
  }));
}

const present = ({ id, name, unique_name, detail, status }: Named): Named => ({
  id,
  name,
  unique_name,
  detail,
  status,
});

/** Those that can be chosen, in the order in which a list has them. */
export async function offeredNames(
  tx: Tx,
  company_id: string,
  kind: NamedKind,
  limit: number,
): Promise<Named[]> {
  const named = namesIn(company_id, kind, []);
  const { order } = sources[kind];
  return (await read(tx, sql`select * from ${named} order by ${order} limit ${limit}`)).map(present);
}

/** Those with the ids, whether or not they can be chosen any more. */
export async function namesOf(
  tx: Tx,
  company_id: string,
  kind: NamedKind,
  ids: readonly string[],
): Promise<Named[]> {
  if (ids.length === 0) return [];
  const named = namesIn(company_id, kind, ids);
  return (await read(tx, sql`select * from ${named} where id = any(${sql.param([...ids])}::uuid[])`)).map(
    present,
  );
}

/** Those that can be chosen and have all words of the text in their name, or an agent in its role; those that begin with it first. */
export async function findNames(
  tx: Tx,
  company_id: string,
  kind: NamedKind,
  text: string,
  limit: number,
): Promise<Named[]> {
  const q = text.trim();
  const named = namesIn(company_id, kind, []);
  // As it is shown, which leads back to it.
  const shown = sql`case when shared then name || ' (' || left(id::text, 8) || ')' else name end`;
  const matching = containing(q, [shown, sql`detail`]) ?? sql`true`;
  const query = sql`select * from ${named} where ${matching}
    order by lower(${shown}) <> lower(${q}), not starts_with(lower(name), lower(${q})),
      position(lower(${q}) in lower(name)) = 0, lower(name), id limit ${limit}`;
  return (await read(tx, query)).map(present);
}

/** The one that is meant by a name, in any case; several if the name does not distinguish them. */
export async function namedExactly(
  tx: Tx,
  company_id: string,
  kind: NamedKind,
  text: string,
): Promise<Named[]> {
  const q = text.trim();
  const named = namesIn(company_id, kind, []);
  const [, name = '', beginning = ''] = /^(.*) \(([\da-f]{8})\)$/is.exec(q) ?? [];
  const found = await read(
    tx,
    sql`select * from ${named} where lower(trim(name)) = lower(${q})
      or (lower(trim(name)) = lower(${name.trim()}) and left(id::text, 8) = lower(${beginning})) order by ${sources[kind].order}`,
  );
  // A name that looks like one with an id comes first.
  const whole = found.filter((each) => each.name.trim().toLowerCase() === q.toLowerCase());
  return (whole.length > 0 ? whole : found).map(present);
}
