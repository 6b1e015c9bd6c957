// `npm run test:failover`: both tiers on a primary and its synchronous standby, with the primary killed under load; behind a
// proxy, and through PgBouncer if installed. Also a server that freezes, and an upgrade from an earlier release, under load. Says what can't be done and why.
// `-- frozen` runs only the files of that name.
import { poolerProgram, postgresPrograms } from '../tests/failover/programs.ts';
import { releasedCommit } from '../tests/failover/released.ts';
import { runJest } from './run-jest.ts';

const missing = [
  [postgresPrograms(), 'the failover: no PostgreSQL with pg_basebackup is installed'],
  [poolerProgram(), 'the failover behind a pooler: PgBouncer is not installed'],
  [releasedCommit(), 'the upgrade: the history does not reach back to the release before'],
] as const;
for (const [there, what] of missing) if (there === undefined) process.stdout.write(`skipped: ${what}\n`);
const named = process.argv.slice(2);
const possible = postgresPrograms() === undefined ? ['upgrade', 'frozen'] : [];
const chosen = named.length > 0 ? named : possible;
process.exitCode = await runJest(['--runInBand', '--config=tests/failover/jest.config.json', ...chosen]);
