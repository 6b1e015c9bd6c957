import type { NodePgQueryResultHKT } from 'drizzle-orm/node-postgres';
import type { PgDatabase } from 'drizzle-orm/pg-core';

/** A database or one of its transactions: the first argument of every function in core. */
export type Tx = PgDatabase<NodePgQueryResultHKT>;
