import { startTestServer } from './test-server.ts';

/** Runs once per jest run, before its workers start. Jest accepts only a default export. */
export default async function globalSetup(): Promise<void> {
  await startTestServer();
}
