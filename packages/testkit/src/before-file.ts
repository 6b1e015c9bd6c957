import { afterAll } from '@jest/globals';
import { killServices } from './processes.ts';
import { stopQueue } from './queued-jobs.ts';
import { closeTestDatabases } from './test-database.ts';

/** For each test file, before it is loaded: modules stay from file to file, processes, connections and databases don't. */
export async function beforeFile(): Promise<void> {
  // Of a file that could not be loaded to its end, whose hooks never ran.
  await close();
  afterAll(close);
}

async function close(): Promise<void> {
  await killServices();
  await stopQueue();
  await closeTestDatabases();
}
