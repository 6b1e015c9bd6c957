/** The rules of docs/ARCHITECTURE.md as data. A rule that is wrong is changed here, with an ADR that says why. */

/** Who may import which of our packages. */
export const mayImport: Record<string, readonly string[]> = {
  kernel: [],
  contract: ['kernel'],
  db: ['kernel'],
  'embedded-postgres': ['kernel'],
  storage: ['kernel'],
  queue: ['kernel', 'contract', 'db'],
  core: ['kernel', 'contract', 'db', 'queue'],
  adapters: ['kernel', 'contract'],
  'plugin-protocol': ['kernel', 'contract'],
  'plugin-sdk': [],
  client: [],
  backup: ['kernel', 'contract', 'db', 'queue', 'storage', 'core'],
  testkit: ['kernel', 'contract', 'db', 'queue', 'core', 'embedded-postgres'],
  web: ['kernel', 'contract', 'db', 'queue', 'core', 'storage'],
  scheduler: [
    'kernel',
    'contract',
    'db',
    'queue',
    'core',
    'adapters',
    'plugin-protocol',
    'storage',
    'backup',
  ],
  worker: ['kernel', 'contract', 'adapters'],
  ctl: ['kernel', 'contract', 'db', 'queue', 'core', 'embedded-postgres', 'storage', 'backup'],
  launcher: ['kernel', 'db', 'queue', 'embedded-postgres', 'web', 'scheduler'],
};

/** What is not imported by the index of its package, which would load all of it: who may. */
export const besideIndexes: readonly { specifier: string; by: RegExp }[] = [
  { specifier: '@acp/kernel/keep-compiled', by: /^apps\/[^/]+\/src\/main\.mjs$/ },
  { specifier: '@acp/kernel/quick-loading', by: /^apps\/[^/]+\/src\/main\.ts$/ },
  { specifier: '@acp/web/health', by: /^apps\/launcher\/src\/roles\.ts$/ },
];

/** Outside packages that only some of ours may import: the engine behind them can then be changed in one place. */
export const onlyIn: Record<string, readonly string[]> = {
  'pg-boss': ['queue'],
  express: ['web'],
  helmet: ['web'],
  'express-rate-limit': ['web'],
  multer: ['web'],
  '@aws-sdk/client-s3': ['storage'],
  '@aws-sdk/lib-storage': ['storage'],
  winston: ['kernel'],
  'drizzle-orm': ['db', 'queue', 'core', 'web', 'ctl'],
  // A COPY is a stream on a connection of its own: the pool and drizzle know none.
  pg: ['db', 'embedded-postgres', 'testkit', 'backup'],
  'pg-copy-streams': ['backup'],
  'tar-stream': ['backup'],
  ai: ['adapters'],
  undici: ['kernel'],
  '@node-rs/argon2': ['core'],
  'cron-parser': ['core'],
  'openid-client': ['web'],
  '@opentelemetry/api': ['kernel'],
  '@opentelemetry/sdk-trace': ['kernel'],
  '@opentelemetry/sdk-metrics': ['kernel'],
  nodemailer: ['scheduler'],
  'smtp-server': ['testkit'],
  '@simplewebauthn/server': ['web'],
  otpauth: ['core'],
  '@zxcvbn-ts/language-common': ['core'],
  'oidc-provider': ['testkit'],
  ws: ['testkit'],
};

/** Slices of core, in order: each may import only earlier ones, and only by their index. */
export const sliceOrder = [
  'activity',
  'events',
  'settings',
  'messages',
  'trash',
  'security',
  'identity',
  'companies',
  'egress',
  'secrets',
  'providers',
  'agents',
  'projects',
  'goals',
  'wakeups',
  'issues',
  'comments',
  'task-sessions',
  'documents',
  'attachments',
  'work-products',
  'workspaces',
  'notes',
  'skills',
  'agent-files',
  'knowledge',
  'approvals',
  'budgets',
  'runs',
  'heartbeats',
  'workers',
  'routines',
  'webhooks',
  'chats',
  'councils',
  'subagents',
  'evolutions',
  'compiled-index',
  'plugins',
  'mcp-servers',
  'channels',
  'federation',
  'tools',
  'inbox',
  'views',
  'search',
  'figures',
  'portability',
  'admin',
  'backups',
  'health',
  'alerts',
] as const;

/** What runs are about is said by their kinds: the kernel may not know it, though these slices come before it. */
export const notForKernel = {
  slice: 'runs',
  slices: [
    'projects',
    'goals',
    'wakeups',
    'issues',
    'comments',
    'task-sessions',
    'documents',
    'workspaces',
    'notes',
    'knowledge',
  ],
};

/** Lines of a file: source, test. A file with a reason of its own stands in `longer`. */
export const maxLines = { source: 350, test: 500 };
export const longer: Record<string, { lines: number; reason: string }> = {
  'packages/client/src/operations.ts': { lines: 20_000, reason: 'generated: every operation of the API' },
};

export const medianLines = 80;
export const p90Lines = 200;
export const maxImports = 15;
/** Tables that only gather the rows of all slices: an import per slice is their whole content. */
export const gatherers = [
  'packages/contract/src/endpoints.ts',
  'packages/contract/src/events.ts',
  'apps/scheduler/src/job-handlers.ts',
  'apps/web/src/ui/pages.ts',
  'tests/http/stage.ts',
];

/**
 * The only readers of the environment, beside tests and scripts. The second runs in plugins: the host tells them by it; the
 * third within sandboxes, whose program inherits it.
 */
export const environmentReaders = [
  'packages/kernel/src/config.ts',
  // Before anything that has types, as the configuration does, may be loaded.
  'packages/kernel/src/keep-compiled.mjs',
  'packages/plugin-sdk/src/serve.ts',
  'packages/adapters/src/sandbox/inside.cjs',
];
