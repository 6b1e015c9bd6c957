// Jest's `globalSetup`, plain JavaScript: jest would load TypeScript without a compile cache, stripping types anew each time.
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** Jest accepts only a default export. */
export default async function globalSetup() {
  const { loadQuickly } = await import('../../packages/program/src/quick-loading.ts');
  const flushCache = loadQuickly(path.join(root, '.build/compile-cache'));
  const { startTestServer } = await import('../../packages/testkit/src/test-server.ts');
  await startTestServer();
  flushCache();
}
