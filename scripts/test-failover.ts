// `npm run test:failover`: both tiers over a primary and its synchronous standby, the primary killed under load; behind a proxy, and
// through PgBouncer where it is installed. Says why where that can't be done, and succeeds.
import { poolerProgram, postgresPrograms } from '../tests/failover/programs.ts';
import { runJest } from './run-jest.ts';

if (postgresPrograms() === undefined)
  process.stdout.write('skipped: no PostgreSQL with pg_basebackup is installed\n');
else {
  if (poolerProgram() === undefined) process.stdout.write('without the pooler: PgBouncer is not installed\n');
  process.exitCode = await runJest(['--runInBand', '--config=tests/failover/jest.config.json']);
}
