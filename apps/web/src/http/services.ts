/** What handlers need besides the transaction: the operator's rules, vault, storage, commands that a scheduler answers. */
import type { Actor, CommandName, CommandPayload, CommandResult } from '@acp/contract';
import {
  type AlertTargets,
  type AdapterRules,
  type HomeRules,
  keyLedger,
  type Mailing,
  type McpServerRules,
  type ProviderRules,
  type WebhookRules,
} from '@acp/core';
import { type Database, type Listener, transaction, type Tx } from '@acp/db';
import {
  alertTargets,
  type Config,
  type License,
  type Logger,
  parseTrustedProxies,
  pickEnvironment,
  readGivenLicense,
  repositoryRoot,
  type TrustedProxies,
  unavailable,
  Vault,
} from '@acp/kernel';
import { callCommand } from '@acp/queue';
import { FileStore, LocalStorage, OpenBodies, type Storage } from '@acp/storage';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFleet, type Fleet } from '../fleet/fleet.ts';
import type { AlertRing } from '../live/alert-ring.ts';
import { type CompanyTurns, turnsOfChanges } from './company-turns.ts';
import { type InstanceGate, UNRESTRICTED } from './instance-state.ts';
import type { UploadLimits } from './upload.ts';

interface PortabilityMeans {
  /** SERVICE_IMPORT_KEY_ENVS. */
  readonly allowed_envs: readonly string[];
  /** SERVICE_LLM_ALLOWED_HOSTS. */
  readonly allowed_hosts: readonly string[];
  readonly readEnv: (name: string) => string | undefined;
  /** Folder with the bundles of ready-made companies. */
  readonly templates: string;
}

export interface Services {
  readonly vault: Vault;
  /** Permitted locations for homes of agents and companies (decisions 7.32). */
  readonly homes: HomeRules;
  /** Resources of the machine and the cloud that an adapter_config may refer to (decisions 7.33). */
  readonly adapters: AdapterRules;
  /** Destinations that providers may reach (SERVICE_PROVIDER_EGRESS). */
  readonly providers: ProviderRules;
  /** Destinations that outbound webhooks may reach besides the public internet. */
  readonly webhooks: WebhookRules;
  /** Destinations that push notifications of tasks may reach besides the public internet. */
  readonly push: WebhookRules;
  /** Permitted external MCP servers besides those on the public internet, and permitted programs. */
  readonly mcp_servers: McpServerRules;
  /** What imports may read: environment variables, ready-made companies. */
  readonly portability: PortabilityMeans;
  readonly public_url: string;
  /** Whether the environment configures a model for agents that name none, as far as this process knows. */
  readonly has_model: boolean;
  /** What applies where the instance's settings are empty, as far as this process knows the schedulers' environment. */
  readonly defaults: { readonly run_retention_days: number | null; readonly backup_schedule: string | null };
  /** Flags and license: which rows currently answer. */
  readonly instance: InstanceGate;
  /** Verifies a license key. @throws invalid */
  readLicense(license_key: string): License;
  readonly storage: Storage;
  /** Incoming files, until a row keeps them; also those kept without a row. */
  readonly files: FileStore;
  readonly upload_limits: UploadLimits;
  /** Outgoing files, by reader. */
  readonly downloads: OpenBodies;
  /** What this process keeps in memory for the requests of remote workers. */
  readonly fleet: Fleet;
  /** The latest alerts that reached this process; null if it receives none. */
  readonly alerts: AlertRing | null;
  /** Recipients of alerts outside of the service. */
  readonly alert_targets: AlertTargets;
  /** What mails to people are made from. */
  readonly mailing: Mailing;
  /** Proxies whose forwarded client address counts. */
  readonly trusted_proxies: TrustedProxies;
  /**
   * Has a scheduler execute the command and waits, 30 s at most (decisions 6). Only for rows without a transaction.
   * @throws the handler's error, or unavailable if no scheduler answered in time
   */
  command<N extends CommandName>(
    name: N,
    payload: CommandPayload<N>,
    caller: { actor: Actor; company_id: string },
  ): Promise<CommandResult<N>>;
  /** Changes of one owner: they may wait for each other, and leave connections to all others. */
  readonly turns: CompanyTurns;
  /** A transaction of its own, for the rare row with work outside of one (slow hashes, bytes, awaited commands). */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** The same in its owner's turn: the company's or, for what is about none, the caller's. Not within another turn. */
  change<T>(owner: string, work: (tx: Tx) => Promise<T>): Promise<T>;
}

interface ServiceSources {
  database: Database;
  config: Pick<Config, 'public_url'> &
    Partial<
      Pick<
        Config,
        | 'encryption_key'
        | 'encryption_key_previous'
        | 'home'
        | 'home_roots'
        | 'docker_images'
        | 'cli_sandbox_image'
        | 'lambda_functions'
        | 'provider_egress'
        | 'license_public_key'
        | 'webhook_allowed_hosts'
        | 'a2a_push_allowed_hosts'
        | 'mcp_allowed_hosts'
        | 'mcp_commands'
        | 'import_key_envs'
        | 'llm_allowed_hosts'
        | 'max_upload_size'
        | 'attachment_max_upload_bytes'
        | 'attachment_max_files_per_request'
        | 'remote_egress_dns_addr'
        | 'remote_egress_proxy'
        | 'require_worker_approval'
        | 'max_remote_workers'
        | 'default_llm_provider'
        | 'default_llm_model'
        | 'run_retention_days'
        | 'backup_schedule'
        | 'trusted_proxies'
        | 'smtp_url'
        | 'alert_mail_to'
        | 'alert_slack_url'
        | 'alert_telegram_token'
        | 'alert_webhook_url'
      >
    >;
  /** Defaults to the folder under SERVICE_HOME. */
  storage?: Storage | undefined;
  logger?: Logger | undefined;
  alerts?: AlertRing | undefined;
  /** Absent in tests: all features enabled, and licensed. */
  instance?: InstanceGate | undefined;
  /** Absent in tests that await no command. */
  listener?: Listener | undefined;
}

const DEFAULT_UPLOAD_BYTES = 25_000_000;
const DEFAULT_FILES = 10;
/** Per user or key, in this process: half of the limit per owner of the files. */
const DOWNLOADS_PER_READER = 16;
const DEFAULT_WORKERS = 10_000;

export function createServices({ database, config, listener, logger, ...sources }: ServiceSources): Services {
  const storage = sources.storage ?? new LocalStorage(join(config.home ?? tmpdir(), 'storage'));
  const files = new FileStore({ storage, ledger: keyLedger(database.db), logger });
  const upload_bytes = config.max_upload_size ?? DEFAULT_UPLOAD_BYTES;
  const vault = new Vault(config.encryption_key ?? null, config.encryption_key_previous ?? []);
  const turns = turnsOfChanges(database.poolStats().max);
  return {
    storage,
    downloads: new OpenBodies(DOWNLOADS_PER_READER),
    fleet: createFleet({
      database,
      logger,
      listener,
      registration: {
        approval: config.require_worker_approval ?? false,
        max: config.max_remote_workers ?? DEFAULT_WORKERS,
      },
      claims: {
        base_url: config.public_url,
        vault,
        egress: {
          proxy: config.remote_egress_proxy ?? null,
          dns_addr: config.remote_egress_dns_addr ?? null,
        },
      },
    }),
    alerts: sources.alerts ?? null,
    alert_targets: alertTargets(config),
    files,
    upload_limits: {
      upload_bytes,
      attachment_bytes: config.attachment_max_upload_bytes ?? upload_bytes,
      attachment_files: config.attachment_max_files_per_request ?? DEFAULT_FILES,
    },
    vault,
    mailing: { vault, mail: Boolean(config.smtp_url), public_url: config.public_url },
    trusted_proxies: config.trusted_proxies ?? parseTrustedProxies(''),
    homes: { service_home: config.home ?? '', assigned: config.home_roots ?? {} },
    adapters: {
      docker_images: config.docker_images ?? [],
      cli_sandbox_image: config.cli_sandbox_image ?? null,
      lambda_functions: config.lambda_functions ?? [],
    },
    providers: { egress: config.provider_egress ?? 'any' },
    webhooks: { allowed_hosts: config.webhook_allowed_hosts ?? [] },
    push: { allowed_hosts: config.a2a_push_allowed_hosts ?? [] },
    mcp_servers: {
      allowed_hosts: config.mcp_allowed_hosts ?? [],
      commands: config.mcp_commands ?? new Map(),
    },
    portability: {
      allowed_envs: config.import_key_envs ?? [],
      allowed_hosts: config.llm_allowed_hosts ?? [],
      readEnv: (name) => pickEnvironment([name])[name],
      templates: join(repositoryRoot, 'examples/companies'),
    },
    public_url: config.public_url,
    has_model: Boolean(config.default_llm_provider && config.default_llm_model),
    defaults: {
      run_retention_days: config.run_retention_days ?? null,
      backup_schedule: config.backup_schedule ?? null,
    },
    instance: sources.instance ?? UNRESTRICTED,
    readLicense: (key) => readGivenLicense(key, config.license_public_key ?? null),
    async command(name, payload, { actor, company_id }) {
      if (!listener) throw unavailable('no scheduler answered in time');
      return callCommand(database, listener, name, payload, {
        actor,
        company_id: company_id || null,
        bodies: files.passing('commands'),
      });
    },
    turns,
    transaction: (work) => transaction(database, work),
    change: async (owner, work) => turns.take(owner, async () => transaction(database, work)),
  };
}
