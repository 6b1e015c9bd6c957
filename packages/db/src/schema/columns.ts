import { sql } from 'drizzle-orm';
import { timestamp, uuid } from 'drizzle-orm/pg-core';

/** Primary key: UUIDv4, made by the service or, for rows inserted in bulk, by the database. */
export const id = () =>
  uuid()
    .primaryKey()
    .default(sql`gen_random_uuid()`);

/** A UTC instant; millisecond precision, so that a value survives the round trip through a cursor. */
export const instant = () => timestamp({ withTimezone: true, precision: 3, mode: 'date' });

export const createdAt = () =>
  instant()
    .notNull()
    .default(sql`now()`);
export const updatedAt = () =>
  instant()
    .notNull()
    .default(sql`now()`);

/** Set when the row lies in the trash: it then counts as absent everywhere (decisions 7.6). */
export const deletedAt = () => instant();
