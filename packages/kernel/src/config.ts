/**
 * The environment, read once at boot: the only place that looks at `process.env`. Each property is named after its variable,
 * in lower case and without `SERVICE_`; an unset variable without a default is null.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import querystring from 'node:querystring';
import type { Static } from 'typebox';
import { accepts, keywords, readVariable, type VariableSchema } from './config-read.ts';
import { configSchema } from './config-schema.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

type Values = Static<typeof configSchema>;
type Property<Name extends string> = Lowercase<Name extends `SERVICE_${infer Rest}` ? Rest : Name>;
type Read = {
  [Name in keyof Values as Property<Name>]-?: undefined extends Values[Name]
    ? Exclude<Values[Name], undefined> | null
    : Values[Name];
};

const POOL_SIZE = 10;
// The machine is small, and each connection that works takes 20 MB of it; a commit's flush is waited for by five at once.
const EMBEDDED_POOL_SIZE = 5;

/** Properties whose default depends on something else are never null after loading. */
export type Config = Omit<
  Read,
  'public_url' | 'log_format' | 'attachment_max_upload_bytes' | 'database_pool_size'
> & {
  public_url: string;
  attachment_max_upload_bytes: number;
  database_pool_size: number;
  log_format: 'json' | 'pretty';
  /** Unrecognised variables that begin with SERVICE_: most likely misspelt, so boot warns about them. */
  unknown_variables: string[];
};

/** The environment is invalid; the message names every malformed variable and what it accepts. */
export class ConfigError extends Error {
  readonly variables: readonly string[];

  constructor(problems: ReadonlyMap<string, string>) {
    const lines = [...problems].map(([name, problem]) => `  ${name}: ${problem}`);
    super(`invalid configuration\n${lines.join('\n')}`);
    this.name = 'ConfigError';
    this.variables = [...problems.keys()];
  }
}

const schemas: ReadonlyMap<string, VariableSchema> = new Map(
  Object.entries(configSchema.properties).map(([name, schema]) => [name, keywords(schema)]),
);

/** Loads the configuration from an environment, by default this process's. Throws ConfigError. */
export function loadConfig(env: Environment = ownEnvironment()): Config {
  const problems = new Map<string, string>();
  const values: Record<string, unknown> = {};
  for (const [name, schema] of schemas) {
    try {
      values[propertyOf(name)] = readOne(schema, textOf(env, name));
    } catch (error) {
      problems.set(name, error instanceof Error ? error.message : String(error));
    }
  }
  for (const [name, problem] of contradictions(env)) if (!problems.has(name)) problems.set(name, problem);
  if (problems.size > 0) throw new ConfigError(problems);

  values.database_direct_url ??= values.database_url;
  values.database_pool_size ??= values.database_url === null ? EMBEDDED_POOL_SIZE : POOL_SIZE;
  values.public_url ??= `http://localhost:${String(values.port)}`;
  values.attachment_max_upload_bytes ??= values.max_upload_size;
  values.log_format ??= process.stdout.isTTY ? 'pretty' : 'json';
  values.unknown_variables = unknownVariables(env);
  if (!isConfig(values)) throw new Error('the configuration is invalid');
  return values;
}

/** The configuration of a remote worker, with its required variables set. */
export type WorkerConfig = Config & { server_url: string; worker_key: string };

/** Throws ConfigError. */
export function loadWorkerConfig(env: Environment = process.env): WorkerConfig {
  const config = loadConfig(env);
  const { server_url, worker_key } = config;
  if (server_url !== null && worker_key !== null) return { ...config, server_url, worker_key };
  const missing = { SERVICE_SERVER_URL: server_url, SERVICE_WORKER_KEY: worker_key };
  throw new ConfigError(
    new Map(
      Object.entries(missing)
        .filter(([, value]) => value === null)
        .map(([name]) => [name, 'must be set for a worker']),
    ),
  );
}

/** The environment for a child process: this one's with overrides; undefined removes a variable. */
export function childEnvironment(changes: Environment): Record<string, string | undefined> {
  return { ...process.env, ...changes };
}

/** Picks the named variables that are set, for a child process that gets these and no others. */
export function pickEnvironment(
  names: readonly string[],
  env: Environment = process.env,
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The build's version and commit, for callers that need nothing else of the configuration. */
export function loadStamp(env: Environment = process.env): { version: string; commit: string } {
  return {
    version: textOf(env, 'SERVICE_BUILD_VERSION') ?? 'dev',
    commit: textOf(env, 'SERVICE_BUILD_COMMIT') ?? 'dev',
  };
}

/** All variables in schema order, for the generated reference and `.env.example`. */
export function configReference(): { name: string; type: string; default: string; description: string }[] {
  return [...schemas].map(([name, schema]) => ({
    name,
    type: accepts(schema),
    default:
      schema.default_note ??
      (schema.default === undefined || schema.default === '' ? 'unset' : String(schema.default)),
    description: schema.description ?? '',
  }));
}

/** The secret values in an environment, by default this process's, so that logs can be scrubbed of them. */
export function configSecrets(env: Environment = ownEnvironment()): string[] {
  return [...schemas].flatMap(([name, schema]) => {
    const text = schema.secret ? textOf(env, name) : undefined;
    if (text === undefined) return [];
    if (schema.format === 'header-list') return [text, ...headerValues(schema, text)];
    if (schema.format === 'encryption-key-list') return text.split(',').map((key) => key.trim());
    // Driver messages may quote just the password of a URL.
    const password = URL.canParse(text) ? new URL(text).password : '';
    return password === '' ? [text] : [text, password, querystring.unescape(password)];
  });
}

/** None of a list that can't be read: the service does not start with it, but a support bundle is made. */
function headerValues(schema: VariableSchema, text: string): string[] {
  try {
    return Object.values(readVariable(schema, text) as Record<string, string>);
  } catch {
    return [];
  }
}

/** The key made by `ctl secrets make-key`, for processes whose environment sets none. */
export const encryptionKeyFile = (home: string): string => path.join(home, 'encryption-key');

/** This process's environment, plus the key of its home if it sets none. Throws ConfigError. */
function ownEnvironment(): Environment {
  const name = 'SERVICE_ENCRYPTION_KEY';
  const home = schemas.get('SERVICE_HOME');
  const key = schemas.get(name);
  if (home === undefined || key === undefined || textOf(process.env, name) !== undefined) return process.env;
  const file = encryptionKeyFile(String(readOne(home, textOf(process.env, 'SERVICE_HOME'))));
  try {
    const text = readFileSync(file, 'utf8').trim();
    readVariable(key, text);
    return { ...process.env, [name]: text };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return process.env;
    // Nothing of the environment is wrong: what is, is the file.
    const problem = code === undefined ? message : `can’t be read by the user of this process (${code})`;
    throw new ConfigError(new Map([[file, problem]]));
  }
}

/** An empty or blank value counts as unset: that is how compose files and unit files pass "nothing". */
function textOf(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}

/** A variable's text; undefined if unset or blank. */
export const environmentText = (name: string, env: Environment = process.env): string | undefined =>
  textOf(env, name);

function readOne(schema: VariableSchema, text: string | undefined): unknown {
  const fallback = () => {
    if (schema.default === undefined) return null;
    return schema.format ? readVariable(schema, String(schema.default)) : schema.default;
  };
  if (text === undefined) return fallback();
  try {
    return readVariable(schema, text);
  } catch (error) {
    if (schema.lenient) return fallback();
    throw error;
  }
}

/** Checks combinations of variables that are each valid on their own. */
function contradictions(env: Environment): [name: string, problem: string][] {
  const isSet = (name: string) => textOf(env, name) !== undefined;
  const needs = (name: string, other: string): [string, string][] =>
    isSet(name) && !isSet(other) ? [[other, `must be set together with ${name}`]] : [];
  return [
    ...needs('SERVICE_BOOTSTRAP_ADMIN_EMAIL', 'SERVICE_BOOTSTRAP_ADMIN_PASSWORD'),
    ...needs('SERVICE_BOOTSTRAP_ADMIN_PASSWORD', 'SERVICE_BOOTSTRAP_ADMIN_EMAIL'),
    ...needs('DATABASE_DIRECT_URL', 'DATABASE_URL'),
    ...needs('SERVICE_OIDC_CLIENT_ID', 'SERVICE_OIDC_ISSUER'),
    ...needs('SERVICE_OIDC_ISSUER', 'SERVICE_OIDC_CLIENT_ID'),
    ...['OIDC', 'GOOGLE', 'GITHUB'].flatMap((name) => [
      ...needs(`SERVICE_${name}_CLIENT_ID`, `SERVICE_${name}_CLIENT_SECRET`),
      ...needs(`SERVICE_${name}_CLIENT_SECRET`, `SERVICE_${name}_CLIENT_ID`),
    ]),
    ...needs('SERVICE_S3_ACCESS_KEY_ID', 'SERVICE_S3_SECRET_ACCESS_KEY'),
    ...needs('SERVICE_S3_SECRET_ACCESS_KEY', 'SERVICE_S3_ACCESS_KEY_ID'),
    ...needs('SERVICE_SMTP_URL', 'SERVICE_MAIL_FROM'),
    ...needs('SERVICE_ALERT_TELEGRAM_TOKEN', 'SERVICE_ALERT_TELEGRAM_CHAT'),
    ...needs('SERVICE_ALERT_TELEGRAM_CHAT', 'SERVICE_ALERT_TELEGRAM_TOKEN'),
    ...needs('SERVICE_ALERT_WEBHOOK_URL', 'SERVICE_ALERT_WEBHOOK_SECRET'),
    ...['SERVICE_STORAGE', 'SERVICE_BACKUP_STORE'].flatMap((name) =>
      textOf(env, name) === 's3' ? needs(name, 'SERVICE_S3_BUCKET') : [],
    ),
    ...(textOf(env, 'SERVICE_DEFAULT_LLM_PROVIDER') === 'family_compat'
      ? needs('SERVICE_DEFAULT_LLM_PROVIDER', 'SERVICE_DEFAULT_LLM_BASE_URL')
      : []),
  ];
}

function unknownVariables(env: Environment): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('SERVICE_') && !schemas.has(name) && textOf(env, name) !== undefined)
    .toSorted();
}

function propertyOf(name: string): string {
  return name.replace(/^SERVICE_/, '').toLowerCase();
}

function isConfig(values: object): values is Config {
  return [...schemas.keys()].every((name) => propertyOf(name) in values);
}
