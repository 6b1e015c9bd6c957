import type { NodePgQueryResultHKT } from 'drizzle-orm/node-postgres';
import type { PgDatabase } from 'drizzle-orm/pg-core';

/** A database or a transaction of it: what every function of core takes first. */
export type Tx = PgDatabase<NodePgQueryResultHKT>;
