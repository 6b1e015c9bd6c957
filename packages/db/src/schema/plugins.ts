import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';
import { companies } from './companies.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';

/** Plugins, and the lease of the one scheduler that runs each process (specification, Plugin). */
export const plugins = pgTable(
  'plugins',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    slug: text().notNull(),
    description: text(),
    version: text(),
    binary_path: text(),
    binary_hash: text(),
    config: jsonb(),
    enabled: boolean().notNull().default(true),
    state: text().notNull().default('installed'),
    approval_state: text().notNull().default('pending'),
    approved_binary_hash: text(),
    host_capabilities: jsonb().notNull(),
    error: text(),
    sandbox: text(),
    /** Mechanism that enforces the limits of the running process, or did for the last one. */
    bounds: jsonb(),
    /** As sent by the running process; null if it is stopped. */
    manifest: jsonb(),
    /**
     * Names of its last manifest, each with its place in the order in which the company's plugins registered theirs; kept while
     * the plugin is stopped.
     */
    names: jsonb().notNull().default({}),
    /** It should be running: someone started it, and neither a stop nor too many crashes have happened since. */
    wanted: boolean().notNull().default(false),
    /** When it was last started manually: earlier crashes do not count. */
    wanted_at: instant(),
    /** Not started before then: the pause after a crash. */
    next_start_at: instant(),
    /** Lease owner that runs the process. The fence is incremented for each owner, and every write of an owner names its own. */
    held_by: text(),
    lease_until: instant(),
    fence: bigint({ mode: 'number' }).notNull().default(0),
    started_at: instant(),
    healthy: boolean(),
    checked_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    unique('plugins_slug').on(t.company_id, t.slug),
    index('plugins_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('plugins_created_at').on(t.created_at.desc(), t.id.desc()),
    index('plugins_wanted')
      .on(t.held_by)
      .where(sql`wanted`),
  ],
);

/** The copy taken when the plugin was allowed: the only file that is ever run. */
export const plugin_binaries = pgTable('plugin_binaries', {
  plugin_id: uuid()
    .primaryKey()
    .references(() => plugins.id, { onDelete: 'cascade' }),
  storage_key: text().notNull(),
  /** Hexadecimal. */
  sha256: text().notNull(),
  size_bytes: bigint({ mode: 'number' }).notNull(),
});

/** Schedulers that can run plugins, while they keep reporting so: plugins are spread evenly over them. */
export const plugin_hosts = pgTable('plugin_hosts', {
  name: text().primaryKey(),
  seen_at: instant().notNull(),
});

/** Lifecycle events and output of a plugin. */
export const plugin_events = pgTable(
  'plugin_events',
  {
    id: id(),
    plugin_id: uuid()
      .notNull()
      .references(() => plugins.id, { onDelete: 'cascade' }),
    type: text().notNull(),
    level: text().notNull(),
    message: text().notNull(),
    from_state: text(),
    to_state: text(),
    details: jsonb().notNull(),
    created_at: createdAt(),
    /** Insertion order of rows with the same timestamp. */
    ordinal: bigint({ mode: 'number' }).generatedAlwaysAsIdentity(),
  },
  (t) => [
    index('plugin_events_plugin').on(t.plugin_id, t.created_at.desc(), t.ordinal.desc()),
    index('plugin_events_created_at').on(t.created_at),
  ],
);

/** Jobs of the running plugin's manifest. */
export const plugin_jobs = pgTable(
  'plugin_jobs',
  {
    plugin_id: uuid()
      .notNull()
      .references(() => plugins.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    schedule: text().notNull(),
    config: jsonb(),
    /** The next tick, or the first missed one; null while the plugin is stopped. */
    next_run_at: instant(),
  },
  (t) => [primaryKey({ columns: [t.plugin_id, t.name] })],
);

export const plugin_job_runs = pgTable(
  'plugin_job_runs',
  {
    id: id(),
    plugin_id: uuid().notNull(),
    job_name: text().notNull(),
    scheduled_at: instant().notNull(),
    status: text().notNull().default('running'),
    result: jsonb(),
    error: text(),
    /** Fence of the process that runs it: a row of an earlier process is lost. */
    fence: bigint({ mode: 'number' }).notNull(),
    started_at: createdAt(),
    finished_at: instant(),
  },
  (t) => [
    foreignKey({
      columns: [t.plugin_id, t.job_name],
      foreignColumns: [plugin_jobs.plugin_id, plugin_jobs.name],
      name: 'plugin_job_runs_job',
    }).onDelete('cascade'),
    index('plugin_job_runs_job').on(t.plugin_id, t.job_name, t.started_at.desc()),
  ],
);

/** A plugin's own values, written through the host service `kv`. */
export const plugin_kv = pgTable(
  'plugin_kv',
  {
    plugin_id: uuid()
      .notNull()
      .references(() => plugins.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    value: jsonb().notNull(),
    size_bytes: integer().notNull(),
    version: bigint({ mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.plugin_id, t.key] })],
);
