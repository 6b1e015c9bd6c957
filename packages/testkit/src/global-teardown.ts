import { stopTestServer } from './test-server.ts';

/** Runs once after a jest run. If the run is killed, the server's guard cleans up. */
export default async function globalTeardown(): Promise<void> {
  await stopTestServer();
}
