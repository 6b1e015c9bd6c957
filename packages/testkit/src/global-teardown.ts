import { stopTestServer } from './test-server.ts';

/** Once after a jest run. A run that is killed is cleaned up after by the server's guard. */
export default async function globalTeardown(): Promise<void> {
  await stopTestServer();
}
