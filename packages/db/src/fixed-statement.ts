/**
 * Statements whose text is built once: drizzle's building of a long one takes as much processor time as all else that a read
 * costs this process. For those that requests send all the time; elsewhere `tx.execute` says the same with less ado.
 */
import { is, Placeholder, type SQL, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { CustomTypesConfig, QueryResult } from 'pg';
import { types } from 'pg';
import type { Tx } from './tx.ts';

type Rows = Record<string, unknown>[];
type Values<Name extends string> = Readonly<Record<Name, unknown>>;

/** What drizzle's session has of its connection, or of the pool; its types keep it to themselves. */
interface Session {
  client: { query(statement: object, values: readonly unknown[]): Promise<QueryResult> };
}

interface Built {
  statement: { text: string; types: CustomTypesConfig };
  /** Of each parameter: the name of the value that it takes, or the same value always. */
  params: readonly ({ name: string } | { always: unknown })[];
}

// Texts that differ by the filters that were asked for; a list has some dozens in use.
const MAX_FORMS = 200;

const asText = (text: string): string => text;
/** As drizzle has them read: instants stay text, which `rowReader` makes dates of. */
const textual: ReadonlySet<number> = new Set([
  types.builtins.TIMESTAMPTZ,
  types.builtins.TIMESTAMP,
  types.builtins.DATE,
  types.builtins.INTERVAL,
]);
const asDrizzle: CustomTypesConfig = {
  getTypeParser: ((type: number, format?: 'text' | 'binary') =>
    textual.has(type) ? asText : types.getTypeParser(type, format)) as CustomTypesConfig['getTypeParser'],
};

const dialect = new PgDialect();

/**
 * @param names of the values that differ from call to call
 * @param make the statement, with such a value in each of its places; called once
 */
export function fixedStatement<Name extends string>(
  names: readonly Name[],
  make: (values: Readonly<Record<Name, Placeholder>>) => SQL,
): (tx: Tx, values: Values<Name>) => Promise<Rows> {
  let built: Built | undefined;
  return async (tx, values) => send(tx, (built ??= build(names, make)), values);
}

/** The same for one that has several forms. @param form tells them apart: what `make` gives for it must depend on nothing else */
export function fixedForms<Name extends string>(
  names: readonly Name[],
): (
  tx: Tx,
  form: string,
  values: Values<Name>,
  make: (values: Readonly<Record<Name, Placeholder>>) => SQL,
) => Promise<Rows> {
  const forms = new Map<string, Built>();
  return async (tx, form, values, make) => {
    let built = forms.get(form);
    if (built === undefined) {
      if (forms.size >= MAX_FORMS) forms.clear();
      forms.set(form, (built = build(names, make)));
    }
    return send(tx, built, values);
  };
}

function build<Name extends string>(
  names: readonly Name[],
  make: (values: Readonly<Record<Name, Placeholder>>) => SQL,
): Built {
  const places: Partial<Record<Name, Placeholder>> = {};
  for (const name of names) places[name] = sql.placeholder(name);
  const { sql: text, params } = dialect.sqlToQuery(make(places as Record<Name, Placeholder>));
  return {
    statement: { text, types: asDrizzle },
    params: params.map((param) => (is(param, Placeholder) ? { name: param.name } : { always: param })),
  };
}

async function send(tx: Tx, { statement, params }: Built, values: Values<string>): Promise<Rows> {
  const { client } = tx._.session as unknown as Session;
  const given = params.map((param) => ('name' in param ? values[param.name] : param.always));
  return (await client.query(statement, given)).rows as Rows;
}
