/** Locates PostgreSQL's programs, including pg_basebackup, which the embedded one does not ship. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

const DEBIAN = '/usr/lib/postgresql';
const NEEDED = ['initdb', 'postgres', 'pg_basebackup'];

/** The newest complete installation; undefined if there is none. */
export function postgresPrograms(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => path.join(DEBIAN, version, 'bin')), configured()];
  return folders.find(
    (folder) => folder !== undefined && NEEDED.every((name) => existsSync(path.join(folder, name))),
  );
}

function configured(): string | undefined {
  try {
    return execFileSync('pg_config', ['--bindir'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

/** PgBouncer's program. */
export function poolerProgram(): string | undefined {
  return ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find((file) =>
    existsSync(file),
  );
}

/** PostgreSQL and PgBouncer refuse to run as root; as root, use `nobody` by its fixed number on Linux. */
export const account = process.geteuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
