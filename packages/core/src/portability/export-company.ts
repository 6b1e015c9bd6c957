/** Exports a company as a bundle (decisions 3, Portability). */
import { type Actor, BUNDLE_FORMAT, BUNDLE_VERSION, type CompanyBundle } from '@acp/contract';
import { databaseNow, type Tx } from '@acp/db';
import { notFound, tooLarge, type Vault } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { setImmediate } from 'node:timers/promises';
import { recordChanges } from '../activity/index.ts';
import { findCompany } from '../companies/index.ts';
import { type KnownSecrets, knownSecrets } from './known-secrets.ts';
import { omittedOf } from './omitted.ts';
import { readCompany } from './read-company.ts';

interface ExportOptions {
  issues: boolean;
  /** Larger bundles are refused, since no instance would accept them. */
  max_bytes: number;
}

/** The raw export, whose secrets are still to be removed outside of the transaction. */
interface RawExport {
  bundle: CompanyBundle;
  secrets: KnownSecrets;
}

/**
 * Reads a consistent snapshot of the company: must be the first statement of its own transaction.
 * @throws notFound, tooLarge if the texts alone exceed the limit
 */
export async function readExport(
  tx: Tx,
  actor: Actor,
  company_id: string,
  vault: Vault,
  { issues, max_bytes }: ExportOptions,
): Promise<RawExport> {
  await tx.execute(sql`set transaction isolation level repeatable read`);
  const company = await findCompany(tx, company_id);
  if (!company) throw notFound();
  if ((await textBytes(tx, company_id, issues)) > max_bytes)
    throw tooLarge(
      issues
        ? 'the bundle would be larger than an upload may be: export without issues, or raise SERVICE_MAX_UPLOAD_SIZE'
        : 'the bundle would be larger than an upload may be: raise SERVICE_MAX_UPLOAD_SIZE',
    );
  const secrets = await knownSecrets(tx, company_id, vault);
  const lists = await readCompany(tx, company, { issues, clean: secrets.clean });
  const omitted = await omittedOf(tx, company_id, { issues });
  const entry = { company_id, action: 'company.exported', entity_type: 'company', entity_id: company_id };
  await recordChanges(tx, actor, [{ ...entry, details: { issues } }]);
  const exported_at = await databaseNow(tx);
  const head = {
    format: BUNDLE_FORMAT,
    version: BUNDLE_VERSION,
    exported_at,
    manifest: { omitted },
  } as const;
  return { bundle: { ...head, ...lists }, secrets };
}

/** Removes the secrets, yielding between list entries so that a large bundle does not block others. */
export async function finishExport({ bundle, secrets }: RawExport): Promise<CompanyBundle> {
  const { format, version, exported_at, manifest, ...lists } = bundle;
  secrets.found = 0;
  const clean: Record<string, unknown> = {};
  for (const [name, list] of Object.entries(lists)) {
    if (!Array.isArray(list)) clean[name] = cleaned(list, secrets);
    else {
      const entries: unknown[] = [];
      for (const [index, entry] of (list as unknown[]).entries()) {
        entries.push(cleaned(entry, secrets));
        if (index % ENTRIES_AT_ONCE === 0) await setImmediate();
      }
      clean[name] = entries;
    }
  }
  const redacted = {
    what: 'texts in which a secret stood, now [redacted]',
    count: secrets.found,
    reason: 'secrets never leave',
  };
  const omitted = [...(secrets.found > 0 ? [redacted] : []), ...(manifest?.omitted ?? [])];
  return {
    format,
    version,
    exported_at,
    manifest: { omitted },
    ...(clean as Pick<CompanyBundle, 'company'>),
  };
}

const ENTRIES_AT_ONCE = 20;

/** Cleans values only: field names are part of the format, or names of variables. Bundles are not deep. */
function cleaned(value: unknown, secrets: KnownSecrets): unknown {
  if (typeof value === 'string') return secrets.clean(value);
  if (Array.isArray(value)) return value.map((each) => cleaned(each, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, cleaned(each, secrets)]));
}

/** Sums the sizes without reading the texts. Includes the trash, which is good enough for a limit. */
async function textBytes(tx: Tx, company_id: string, issues: boolean): Promise<number> {
  const { rows } = await tx.execute<{ bytes: string }>(sql`
    select (
      (select coalesce(sum(octet_length(body_markdown)), 0) from notes where company_id = ${company_id})
      + (select coalesce(sum(octet_length(body_markdown)), 0) from skills where company_id = ${company_id})
      + (select coalesce(sum(octet_length(coalesce(system_prompt, '')) + octet_length(coalesce(description, ''))), 0)
        from agents where company_id = ${company_id})
      + case when ${issues} then
        (select coalesce(sum(octet_length(coalesce(body_markdown, '')) + 500), 0) from issues where company_id = ${company_id})
        + (select coalesce(sum(octet_length(body_markdown) + 150), 0) from comments where company_id = ${company_id})
        + (select coalesce(sum(octet_length(r.body)), 0) from documents d
          join document_revisions r on r.id = d.latest_revision_id where d.company_id = ${company_id})
        else 0 end)::text as bytes`);
  return Number(rows[0]!.bytes);
}
