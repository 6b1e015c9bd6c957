/** The rules of docs/ARCHITECTURE.md as data. A wrong rule is changed here, with an ADR that gives the reason. */

/** Which of our packages each package may import. */
export const mayImport: Record<string, readonly string[]> = {
  kernel: [],
  program: [],
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
  worker: ['kernel', 'contract', 'adapters', 'program'],
  ctl: ['kernel', 'program', 'contract', 'db', 'queue', 'core', 'embedded-postgres', 'storage', 'backup'],
  launcher: ['kernel', 'program', 'db', 'queue', 'core', 'embedded-postgres', 'web', 'scheduler'],
};

/** Modules not exported by the index of their package, which would load all of it, and who may import them. */
export const besideIndexes: readonly { specifier: string; by: RegExp }[] = [
  { specifier: '@acp/web/health', by: /^apps\/launcher\/src\/roles\.ts$/ },
];

/** External packages that only some of ours may import, so that the engine behind them can be changed in one place. */
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
  // A COPY is a stream on its own connection: neither the pool nor drizzle supports it.
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

/** Slices of core, in order: each may import only earlier ones, and only through their index. */
export const sliceOrder = [
  'activity',
  'events',
  'settings',
  'bounds',
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
  'credentials',
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

/** Kinds define what runs are about: the kernel must not depend on these slices, although they are earlier in the order. */
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

/** Packages whose exports are for others: two are published, and each schema of the contract is a component of the OpenAPI document. */
export const publicExports = ['client', 'plugin-sdk', 'contract'];

/** Maximum lines per file: source, test. Justified exceptions are listed in `longer`. */
export const maxLines = { source: 350, test: 500 };
export const longer: Record<string, { lines: number; reason: string }> = {
  'packages/client/src/operations.ts': { lines: 20_000, reason: 'generated: every operation of the API' },
};

export const medianLines = 80;
export const p90Lines = 200;
export const maxImports = 15;
/** Tables that only collect the rows of all slices: one import per slice is their whole content. */
export const gatherers = [
  'packages/contract/src/endpoints.ts',
  'packages/contract/src/events.ts',
  'apps/scheduler/src/job-handlers.ts',
  'apps/web/src/ui/pages.ts',
  'tests/http/stage.ts',
];

/**
 * The only readers of the environment, apart from tests and scripts. The second runs in plugins, which the host configures
 * that way; the third inside sandboxes, whose program inherits it.
 */
export const environmentReaders = [
  'packages/kernel/src/config.ts',
  // Runs before any module with types, such as the configuration, may be loaded.
  'packages/program/src/load-program.mjs',
  'packages/plugin-sdk/src/serve.ts',
  'packages/adapters/src/sandbox/inside.cjs',
];

/** What is not bundled: it runs as a file of its own, or in tests. The first says where the root is. */
export const findsItself: readonly RegExp[] = [
  /^packages\/kernel\/src\/repository-root\.ts$/,
  /^packages\/(?:program|testkit)\//,
  /^apps\/launcher\/src\/demo(?:\.ts|\/)/,
  /^apps\/scheduler\/src\/extraction\/child\.ts$/,
];
