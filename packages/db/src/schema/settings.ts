import { jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { updatedAt } from './columns.ts';

/** Instance settings that override the environment's defaults (decisions 7.7), and the instance's own facts. */
export const instance_settings = pgTable('instance_settings', {
  key: text().primaryKey(),
  value: jsonb().notNull(),
  updated_at: updatedAt(),
});

/** Overridden operational flags; their defaults are code (decisions 7.7). */
export const instance_flags = pgTable('instance_flags', {
  name: text().primaryKey(),
  value: jsonb().notNull(),
  description: text(),
  updated_at: updatedAt(),
});
