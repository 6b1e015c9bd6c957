/** Imports a bundle as a company, or into one (decisions 3, Portability): all of it or nothing. */
import {
  type Actor,
  bundleLists,
  type CompanyBundle,
  type ImportedCompany,
  isInstanceAdmin,
  roleIn,
} from '@acp/contract';
import { databaseNow, savepoint, schema, type Tx } from '@acp/db';
import { forbidden, invalid, notFound, type Vault } from '@acp/kernel';
import { eq } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import {
  type CompanyRow,
  createCompany,
  findCompany,
  lockCompany,
  setAgentDefaults,
  updateCompany,
} from '../companies/index.ts';
import { BundleIds } from './bundle-ids.ts';
import { listOf } from './bundle-places.ts';
import { type BundleRules, checkBundle } from './check-bundle.ts';
import { warningsOf } from './import-warnings.ts';
import { matchExisting } from './match-existing.ts';
import { planPolicies, planProviders } from './plan-writes.ts';
import { type KeySources, providerKeys } from './provider-keys.ts';
import { writeLists } from './write-lists.ts';

const { secrets } = schema;

export interface CompanyImport {
  bundle: CompanyBundle;
  /** Exactly one of them is set. */
  company_id?: string | undefined;
  new_company?: { name: string; slug: string } | undefined;
  provider_keys?: Record<string, string> | undefined;
  dry_run?: boolean | undefined;
}

interface ImportMeans {
  vault: Vault;
  rules: BundleRules;
  /** Sources of keys that are missing from `provider_keys`. */
  environment: Pick<KeySources, 'allowed_envs' | 'allowed_hosts' | 'readEnv'>;
}

/**
 * A dry run performs the whole import and rolls it back, so it reports exactly what an import would do.
 * @throws invalid naming the place of the error in the bundle, forbidden, notFound for a company that the actor can't see,
 * conflict if the new slug is taken, unavailable for keys without an encryption key
 */
export async function importCompany(
  tx: Tx,
  actor: Actor,
  input: CompanyImport,
  means: ImportMeans,
): Promise<ImportedCompany> {
  assertMayImport(actor, input);
  checkBundle(actor, input.company_id ?? '', input.bundle, means.rules);
  if (!input.dry_run) return write(tx, actor, input, means);
  try {
    return await savepoint(tx, async (inner) => {
      throw new DryRun(await write(inner, actor, input, means));
    });
  } catch (error) {
    if (!(error instanceof DryRun)) throw error;
    return { ...error.outcome, company_id: input.company_id ?? null };
  }
}

/** Thrown to roll back a dry run. */
class DryRun extends Error {
  readonly outcome: ImportedCompany;

  constructor(outcome: ImportedCompany) {
    super('rolled back: a dry run');
    this.outcome = outcome;
  }
}

function assertMayImport(actor: Actor, { company_id, new_company }: CompanyImport): void {
  if ((company_id === undefined) === (new_company === undefined))
    throw invalid('either company_id or new_company is required');
  if (actor.kind === 'system') return;
  if (company_id === undefined) {
    if (!isInstanceAdmin(actor)) throw forbidden('instance admin only');
    return;
  }
  const role = roleIn(actor, company_id);
  if (role === undefined) throw notFound();
  if (role !== 'admin' || actor.kind === 'agent') throw forbidden('admin role required');
}

async function write(
  tx: Tx,
  actor: Actor,
  input: CompanyImport,
  { vault, environment }: ImportMeans,
): Promise<ImportedCompany> {
  const { bundle, new_company, provider_keys: given = {} } = input;
  const any_env = actor.kind === 'system' || isInstanceAdmin(actor);
  const keys = providerKeys(listOf(bundle, 'providers'), { ...environment, given, any_env });
  const company = new_company
    ? await makeCompany(tx, actor, bundle, new_company)
    : // Serialises imports: the second one sees what the first has created.
      await lockCompany(tx, input.company_id!);
  const ids = new BundleIds(bundle, new_company ? new Map() : await matchExisting(tx, company.id, bundle));
  const { rows: providers, ...providerFacts } = await planProviders(tx, company.id, ids, keys);
  const policies = await planPolicies(tx, company.id, bundle, ids);
  const now = (await databaseNow(tx)).toISOString();
  await writeLists(tx, actor, { bundle, ids, company, providers, policies, now, vault });
  const made = bundleLists.map((list) => [list, ids.fresh(list).length] as const);
  const created = {
    ...Object.fromEntries(made),
    budget_policies: policies.length,
  } as ImportedCompany['created'];
  await recordChanges(tx, actor, [
    {
      company_id: company.id,
      action: 'company.imported',
      entity_type: 'company',
      entity_id: company.id,
      details: { from: bundle.company.name, created },
      // A single one: thousands of issues would flood every stream of the company.
      event: { type: 'company_imported', data: { id: company.id, created } },
    },
  ]);
  const facts = {
    bundle,
    ids,
    secrets: await secretsOf(tx, company.id),
    ...providerFacts,
    merged: !new_company,
  };
  return {
    company_id: company.id,
    created,
    skipped: ids.skipped,
    warnings: warningsOf(facts),
  };
}

async function makeCompany(
  tx: Tx,
  actor: Actor,
  { company: { agent_defaults, default_worker_tags } }: CompanyBundle,
  new_company: { name: string; slug: string },
): Promise<CompanyRow> {
  const { id } = await createCompany(tx, actor, new_company);
  if (agent_defaults) await setAgentDefaults(tx, actor, id, agent_defaults);
  if (default_worker_tags) await updateCompany(tx, actor, id, { default_worker_tags });
  return (await findCompany(tx, id))!;
}

async function secretsOf(tx: Tx, company_id: string): Promise<Set<string>> {
  const rows = await tx
    .select({ name: secrets.name })
    .from(secrets)
    .where(eq(secrets.company_id, company_id));
  return new Set(rows.map(({ name }) => name));
}
