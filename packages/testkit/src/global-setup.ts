import { startTestServer } from './test-server.ts';

/** Once for a jest run, before its workers start. Jest takes nothing but a default export. */
export default async function globalSetup(): Promise<void> {
  await startTestServer();
}
