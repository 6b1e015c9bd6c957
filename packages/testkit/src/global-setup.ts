import { startTestServer } from './test-server.ts';
import type { RunningTestServer } from './test-server.ts';

declare global {
  // Jest runs the set-up and the tear-down in one process, but loads them as two modules.
  var acpTestServer: RunningTestServer | undefined;
}

/** Once for a jest run, before its workers start. Jest takes nothing but a default export. */
export default async function globalSetup(): Promise<void> {
  globalThis.acpTestServer = await startTestServer();
}
