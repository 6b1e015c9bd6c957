/** Secrets that must be removed from a bundle, wherever they were written: in a prompt, a note, a comment. */
import { schema, type Tx } from '@acp/db';
import type { Vault } from '@acp/kernel';
import { Scrubber } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { providerPlace } from '../providers/index.ts';
import { secretPlace } from '../secrets/index.ts';
import { isSecretive } from './portable-config.ts';

const { agents, companies, projects } = schema;

/** Recognises keys by their format: this service's own, those of well-known vendors, and private keys. Linear time. */
const keyShapes =
  /\bsk_[0-9a-f]{64}\b|\bsk-[A-Za-z0-9_-]{20,200}|\bgh[pousr]_[A-Za-z0-9]{36,255}|\bgithub_pat_\w{50,255}|\bglpat-[\w-]{20,100}|\bxox[abeprs]-[A-Za-z0-9-]{10,255}|\bxapp-[A-Za-z0-9-]{10,255}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{35}|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,20000}-----END [A-Z ]{0,30}PRIVATE KEY-----/g;

export class KnownSecrets {
  readonly #scrubber = new Scrubber();
  /** Number of texts that contained a secret. */
  found = 0;

  add(value: string): void {
    this.#scrubber.addSecret(value);
  }

  readonly clean = (text: string): string => {
    const cleaned = this.#scrubber.scrub(text).replace(keyShapes, '[redacted]');
    if (cleaned !== text) this.found += 1;
    return cleaned;
  };
}

interface Sealed extends Record<string, unknown> {
  place: string;
  sealed: string;
}

/** Every value of the company that the vault can open, and those in plain text in its configurations. */
export async function knownSecrets(tx: Tx, company_id: string, vault: Vault): Promise<KnownSecrets> {
  const known = new KnownSecrets();
  const { rows } = await tx.execute<Sealed>(sql`
    select ${secretPlace('')} || id as place, sealed from secrets where company_id = ${company_id}
    union all select ${providerPlace('')} || id, api_key_sealed from providers
      where company_id = ${company_id} and api_key_sealed is not null
    union all select ${providerPlace('')} || id, custom_headers_sealed from providers
      where company_id = ${company_id} and custom_headers_sealed is not null
    union all select 'routine_triggers/' || id, secret_sealed from routine_triggers
      where company_id = ${company_id} and secret_sealed is not null
    union all select 'webhooks/' || id, secret_sealed from webhooks where company_id = ${company_id}
    union all select 'a2a_peers/' || id, api_key_sealed from a2a_peers
      where company_id = ${company_id} and api_key_sealed is not null
    union all select 'a2a_delegations/' || issue_id, push_token_sealed from a2a_delegations
      where company_id = ${company_id} and push_token_sealed is not null
    union all select 'repository_webhooks/' || public_id, secret_sealed from repository_webhooks
      where company_id = ${company_id}
    union all select 'invites/' || id, token_sealed from invites
      where company_id = ${company_id} and token_sealed is not null`);
  for (const { place, sealed } of rows) {
    const [, fingerprint = ''] = sealed.split('.');
    // The key that sealed it is gone, so its value is lost anyway.
    if (!vault.opens(fingerprint)) continue;
    for (const value of parts(vault.unseal(sealed, place))) known.add(value);
  }
  const configs = [
    ...(await tx
      .select({ config: agents.adapter_config })
      .from(agents)
      .where(eq(agents.company_id, company_id))),
    ...(await tx
      .select({ config: companies.agent_default_adapter_config })
      .from(companies)
      .where(eq(companies.id, company_id))),
    ...(await tx.select({ config: projects.env }).from(projects).where(eq(projects.company_id, company_id))),
  ];
  for (const { config } of configs) for (const value of secretValues(config)) known.add(value);
  return known;
}

/** Headers and cloud credentials are JSON objects: each of their values is a secret of its own. */
function parts(value: string): string[] {
  if (!value.startsWith('{')) return [value];
  try {
    const fields = Object.entries(JSON.parse(value) as Record<string, unknown>);
    return fields.flatMap(([name, each]) => (typeof each === 'string' && name !== 'region' ? [each] : []));
  } catch {
    return [value];
  }
}

/** Values whose names mark them as secret, except for references. */
function secretValues(config: unknown): string[] {
  if (typeof config !== 'object' || config === null) return [];
  return Object.entries(config).flatMap(([name, value]) => {
    if (typeof value !== 'string') return secretValues(value);
    return isSecretive(name) && !value.includes('${secret:') ? [value] : [];
  });
}
