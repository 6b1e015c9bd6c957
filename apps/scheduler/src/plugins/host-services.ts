import { type HostService, hostServices, createValidator, MAX_PLUGIN_MESSAGE_BYTES } from '@acp/contract';
import { commentFor, kvOperations, readIssuesFor, resolveSecrets } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { forbidden, invalid, notFound, type Vault } from '@acp/kernel';
import { acceptedArgs } from '@acp/plugin-protocol';
import type { Static } from 'typebox';
import { httpFetch } from './http-fetch.ts';
import type { PluginMetrics } from './plugin-metrics.ts';

export interface ServicePlace {
  plugin_id: string;
  company_id: string;
  slug: string;
  /** The capabilities when it was started. */
  host_capabilities: readonly string[];
  database: Database;
  vault: Vault;
  fetch: typeof fetch;
  metrics: PluginMetrics;
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void;
  /** From now on the log must redact these. */
  learnSecrets(secrets: readonly string[]): void;
  /** @returns the path as the plugin sees it */
  placeBody(bytes: Uint8Array): Promise<string>;
  signal: AbortSignal;
}

type Args<S extends HostService> = Static<(typeof hostServices)[S]['args']>;
type Handler<S extends HostService> = (place: ServicePlace, args: Args<S>) => Promise<unknown>;

const handlers: { readonly [S in HostService]: Handler<S> } = {
  http_fetch: async (place, args) => httpFetch(place, args),
  log: async (place, { level, message }) => {
    place.log(level, message);
    return Promise.resolve(null);
  },
  kv: async ({ database, plugin_id }, { ops }) => ({
    results: await transaction(database, async (tx) => kvOperations(tx, plugin_id, ops)),
  }),
  secret: async (place, { name }) => {
    if (!place.host_capabilities.includes(`secret:${name}`)) throw forbidden(`secret:${name} is not granted`);
    const reference = { value: `\${secret:${name}}` };
    const { value, secrets } = await resolveSecrets(
      place.database.db,
      place.company_id,
      reference,
      place.vault,
    );
    place.learnSecrets(secrets);
    return value;
  },
  'issues.read': async (place, args) => readIssuesFor(place.database.db, place, args),
  'issues.comment': async (place, args) =>
    transaction(place.database, async (tx) => commentFor(tx, place, args)),
  metrics: async ({ metrics, plugin_id, company_id }, args) => {
    metrics.record({ plugin_id, company_id }, args);
    return Promise.resolve(null);
  },
};

const validators = new Map(
  Object.entries(hostServices).map(([name, { args }]) => [name, createValidator(args, 'args')] as const),
);

/**
 * Runs a service of the host for a plugin.
 * @throws notFound for an unknown service, forbidden for one that is not granted, and whatever the service throws
 */
export async function callHostService(place: ServicePlace, service: string, args: unknown): Promise<unknown> {
  const validate = validators.get(service);
  if (validate === undefined) throw notFound(`there is no service ${JSON.stringify(service)}`);
  if (!isGranted(place.host_capabilities, service)) throw forbidden(`${service} is not granted`);
  const handle = handlers[service as HostService] as (place: ServicePlace, args: unknown) => Promise<unknown>;
  const result = await handle(place, validate(acceptedArgs(service as HostService, args)));
  if (Buffer.byteLength(JSON.stringify(result)) > MAX_PLUGIN_MESSAGE_BYTES - 4096)
    throw invalid('the answer is too long for a message: ask for less');
  return result;
}

export const isHostService = (service: string): boolean => validators.has(service);

/** Each secret has a grant of its own. */
function isGranted(capabilities: readonly string[], service: string): boolean {
  if (service === 'secret') return capabilities.some((each) => each.startsWith('secret:'));
  return capabilities.includes(service);
}
