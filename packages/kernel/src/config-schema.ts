/**
 * Every environment variable of the service: type, default and a one-sentence description. `docs` and `.env.example` are
 * generated from this file (`npm run generate`). Formats and further keywords are explained in config-read.ts.
 */
import { Type } from 'typebox';
import { adapterVariables } from './config-adapters.ts';
import { workspaceVariables } from './config-workspaces.ts';
import { federationVariables } from './config-federation.ts';
import { backupVariables } from './config-backups.ts';
import { healthVariables } from './config-health.ts';
import { licenseVariables } from './config-license.ts';
import { mcpVariables } from './config-mcp.ts';
import { messageVariables } from './config-messages.ts';
import { pluginVariables } from './config-plugins.ts';
import { signInVariables } from './config-sign-in.ts';
import { telemetryVariables } from './config-telemetry.ts';
import { workerVariables } from './config-worker.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

const secret = { secret: true };

export const configSchema = Type.Object({
  // Roles and addresses
  SERVICE_ROLE: Type.Enum(['all', 'web', 'scheduler'], {
    default: 'all',
    description: 'Which tiers this process is.',
  }),
  PORT: Type.Integer({
    minimum: 0,
    maximum: 65535,
    default: 3100,
    description: 'HTTP port; 0 takes a free one.',
  }),
  SERVICE_HOST: Type.String({ default: '127.0.0.1', description: 'Address to listen on.' }),
  SERVICE_PUBLIC_URL: Type.Optional(
    Type.String({
      format: 'http-url',
      default_note: 'http://localhost:<PORT>',
      description: 'URL at which agents and browsers reach the service.',
    }),
  ),
  SERVICE_TRUSTED_PROXIES: Type.Unsafe<TrustedProxies>({
    format: 'cidr-list',
    default: '',
    description: 'Reverse proxies whose X-Forwarded-For is believed.',
  }),
  RATE_LIMIT_RPM: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 300,
    description: 'Requests per minute and client address, counted by each process; 0 switches the limit off.',
  }),

  // State
  DATABASE_URL: Type.Optional(
    Type.String({
      ...secret,
      format: 'postgres-url',
      default_note: 'unset: an embedded PostgreSQL under SERVICE_HOME',
      description: 'PostgreSQL 14 or newer; may point at a transaction-mode pooler.',
    }),
  ),
  DATABASE_DIRECT_URL: Type.Optional(
    Type.String({
      ...secret,
      format: 'postgres-url',
      default_note: 'DATABASE_URL',
      description:
        'The same database without a transaction-mode pooler between, for LISTEN, notifications, migrations and backups.',
    }),
  ),
  SERVICE_DATABASE_POOL_SIZE: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default_note: '10; with the embedded PostgreSQL 5',
      description:
        'Most database connections of one tier of a process, beside its three for LISTEN, notifications and issue numbers and a scheduler’s two for health.',
    }),
  ),
  SERVICE_HOME: Type.String({
    format: 'path',
    default: '.service',
    description: 'Folder of all local state: embedded database, attachments, agent homes, backups.',
  }),
  SERVICE_HOME_ROOTS: Type.Unsafe<Record<string, string[]>>({
    format: 'folder-map',
    default: '',
    description: 'Folders outside SERVICE_HOME that home_dir of a company and its agents may name.',
  }),
  SERVICE_ENCRYPTION_KEY: Type.Optional(
    Type.Unsafe<Buffer>({
      ...secret,
      format: 'encryption-key',
      description:
        'Key of the secrets at rest; unset, the one that `ctl secrets make-key` has laid into SERVICE_HOME; without either nothing secret can be stored.',
    }),
  ),
  SERVICE_ENCRYPTION_KEY_PREVIOUS: Type.Unsafe<Buffer[]>({
    ...secret,
    format: 'encryption-key-list',
    default: '',
    description: 'Former keys, which still decrypt, for rotation.',
  }),
  SERVICE_MAX_UPLOAD_SIZE: Type.Unsafe<number>({
    format: 'bytes',
    default: '25MB',
    description: 'Largest multipart upload, all files and fields of a request together.',
  }),
  SERVICE_ATTACHMENT_MAX_UPLOAD_BYTES: Type.Optional(
    Type.Unsafe<number>({
      format: 'bytes',
      default_note: 'SERVICE_MAX_UPLOAD_SIZE',
      description: 'Largest single attachment.',
    }),
  ),
  SERVICE_ATTACHMENT_MAX_FILES_PER_REQUEST: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 10,
    description: 'Most attachments that one request may bring.',
  }),
  SERVICE_STORAGE: Type.Enum(['local', 's3'], {
    default: 'local',
    description:
      'Where attachments, logos and agents’ files lie: under SERVICE_HOME, or in an S3-compatible store.',
  }),
  SERVICE_S3_BUCKET: Type.Optional(
    Type.String({ minLength: 1, description: 'Bucket; required with SERVICE_STORAGE=s3.' }),
  ),
  SERVICE_S3_REGION: Type.String({ default: 'us-east-1', description: 'Region of the bucket.' }),
  SERVICE_S3_ENDPOINT: Type.Optional(
    Type.String({
      format: 'http-url',
      default_note: 'the region’s own endpoint',
      description: 'URL of an S3-compatible store.',
    }),
  ),
  SERVICE_S3_ACCESS_KEY_ID: Type.Optional(
    Type.String({
      default_note: 'the platform’s default chain',
      description: 'Access key of the store; set together with its secret.',
    }),
  ),
  SERVICE_S3_SECRET_ACCESS_KEY: Type.Optional(
    Type.String({
      ...secret,
      default_note: 'the platform’s default chain',
      description: 'Secret of the access key.',
    }),
  ),
  SERVICE_S3_PREFIX: Type.String({
    format: 'key-prefix',
    default: '',
    description: 'Folder in the bucket for a bucket that others use too.',
  }),
  SERVICE_S3_FORCE_PATH_STYLE: Type.Unsafe<boolean>({
    format: 'boolean',
    default: 'false',
    description: 'Puts the bucket into the path instead of the host name, as many compatible stores need it.',
  }),
  SERVICE_RUN_RETENTION_DAYS: Type.Integer({
    minimum: 1,
    maximum: 36_500,
    default: 90,
    description: 'Days for which finished runs and their transcripts are kept.',
  }),

  // First sign-in
  SERVICE_BOOTSTRAP_ADMIN_EMAIL: Type.Optional(
    Type.String({ format: 'email', description: 'First instance admin, created when there is no user.' }),
  ),
  SERVICE_BOOTSTRAP_ADMIN_PASSWORD: Type.Optional(
    Type.String({ ...secret, minLength: 8, description: 'Password of the first instance admin.' }),
  ),

  // Sign-in providers
  ...licenseVariables,
  ...federationVariables,
  ...signInVariables,

  // Runs
  WORKER_POOL_SIZE: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 5,
    description: 'Runs that one scheduler process executes at once.',
  }),
  SERVICE_REQUIRE_WORKER_APPROVAL: Type.Unsafe<boolean>({
    format: 'boolean',
    default: 'false',
    description: 'New remote workers wait for an instance admin’s approval.',
  }),
  SERVICE_MAX_REMOTE_WORKERS: Type.Integer({
    minimum: 0,
    default: 10_000,
    description: 'Remote workers that may be registered; 0 for no cap.',
  }),
  SERVICE_RUN_LEASE_SEC: Type.Integer({
    minimum: 1,
    maximum: 3600,
    default: 30,
    description: 'Seconds without renewal after which a run counts as lost; renewed at a third of it.',
  }),
  SERVICE_DRAIN_TIMEOUT_SEC: Type.Integer({
    minimum: 0,
    maximum: 3600,
    default: 30,
    description: 'Seconds that running work may take to finish after SIGTERM; then runs are aborted.',
  }),

  // Model endpoint
  SERVICE_DEFAULT_LLM_PROVIDER: Type.Optional(
    Type.Enum(['family_chat_a', 'family_chat_b', 'family_search', 'family_compat', 'family_cloud'], {
      description: 'Provider family for agents without a provider of their own.',
    }),
  ),
  SERVICE_DEFAULT_LLM_MODEL: Type.Optional(Type.String({ description: 'Model of the default provider.' })),
  SERVICE_DEFAULT_LLM_API_KEY: Type.Optional(
    Type.String({ ...secret, description: 'API key of the default provider.' }),
  ),
  SERVICE_DEFAULT_LLM_BASE_URL: Type.Optional(
    Type.String({
      format: 'http-url',
      default_note: 'the family’s own endpoint',
      description: 'Base URL of the default provider; required for family_compat.',
    }),
  ),
  SERVICE_LLM_ALLOWED_HOSTS: Type.Unsafe<string[]>({
    format: 'host-list',
    default: '',
    description: 'Hosts, beside a provider’s own base URL, to which its key may be sent.',
  }),
  SERVICE_PROVIDER_EGRESS: Type.Enum(['any', 'public'], {
    default: 'any',
    description:
      'public refuses private, loopback and link-local addresses; metadata addresses are always refused.',
  }),
  SERVICE_IMPORT_KEY_ENVS: Type.Unsafe<string[]>({
    format: 'name-list',
    default: '',
    description:
      'Variables that end in _API_KEY and that the import of a company may name as the key of a provider; instance admins may name any.',
  }),
  SERVICE_WEBHOOK_ALLOWED_HOSTS: Type.Unsafe<string[]>({
    format: 'host-list',
    default: '',
    description:
      'Hosts on private addresses to which outbound webhooks may be sent; all others must be public.',
  }),
  ...mcpVariables,
  SERVICE_WEBHOOK_TIMEOUT_SEC: Type.Integer({
    minimum: 1,
    maximum: 60,
    default: 10,
    description: 'Seconds that a receiver of outbound webhooks has to answer.',
  }),
  SERVICE_LLM_IDLE_TIMEOUT_SEC: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 300,
    description: 'Seconds without a byte after which a model call is given up.',
  }),
  SERVICE_LLM_TIMEOUT_SEC: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 1800,
    description: 'Seconds that a model call may take in all.',
  }),
  SERVICE_PRICING_FILE: Type.Optional(
    Type.String({
      format: 'path',
      default_note: 'built-in prices',
      description: 'JSON file of model to {InputPer1K, OutputPer1K, CachedPer1K?} in USD.',
    }),
  ),

  // Programs, containers and cloud functions
  ...adapterVariables,
  ...workspaceVariables,

  // The reference remote worker
  ...workerVariables,
  // Plugins
  ...pluginVariables,

  // Backups
  ...backupVariables,
  ...messageVariables,

  // Health and logs. A malformed threshold silently falls back to its default (specification, /readyz).
  ...healthVariables,
  ...telemetryVariables,
  LOG_LEVEL: Type.Enum(['debug', 'info', 'warn', 'error'], {
    default: 'info',
    description: 'Least level that is logged.',
  }),
  LOG_FORMAT: Type.Optional(
    Type.Enum(['json', 'pretty'], {
      default_note: 'json; pretty on a terminal',
      description: 'One JSON object a line, or text for people.',
    }),
  ),

  // Set by the build
  SERVICE_BUILD_VERSION: Type.String({ default: 'dev', description: 'Version that /healthz shows.' }),
  SERVICE_BUILD_COMMIT: Type.String({ default: 'dev', description: 'Commit that /healthz shows.' }),
});
