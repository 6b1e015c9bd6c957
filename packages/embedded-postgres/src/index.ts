/**
 * PostgreSQL for a machine that has none: the binaries of an npm package, started as an own process. It listens on
 * loopback only, with SCRAM and a random password in a file of mode 0600 (decisions 8.7).
 */
export { startEmbeddedPostgres } from './start.ts';
export type { EmbeddedPostgres, EmbeddedPostgresOptions } from './start.ts';
export { openInstanceDatabase } from './instance-database.ts';
export type { InstanceDatabase } from './instance-database.ts';
