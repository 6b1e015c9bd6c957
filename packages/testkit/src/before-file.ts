import { afterAll } from '@jest/globals';
import { killServices } from './processes.ts';
import { stopQueue } from './queued-jobs.ts';
import { closeTestDatabases } from './test-database.ts';

/** Runs before each test file is loaded: modules survive from file to file; processes, connections and databases don't. */
export async function beforeFile(): Promise<void> {
  // Cleans up after a file that failed to load completely, so its hooks never ran.
  await close();
  afterAll(close);
}

async function close(): Promise<void> {
  await killServices();
  await stopQueue();
  await closeTestDatabases();
}
