import { createValidator, NewCompany, type portabilityEndpoints, ProviderKeys } from '@acp/contract';
import { type CompanyImport, companyTemplate, readBundle, readBundleValue } from '@acp/core';
import { invalid, isNestedDeeper, said } from '@acp/kernel';
import type { Context } from '../../http/handle.ts';

const newCompany = createValidator(NewCompany, 'body.new_company');
const providerKeys = createValidator(ProviderKeys, 'body.provider_keys');

/** Parses files before the transaction begins. @throws invalid with the fault's position, notFound for a template */
export async function readImport({
  body,
  files,
  services,
}: Context<typeof portabilityEndpoints.import>): Promise<CompanyImport> {
  const { bundle: sent, template, company_id, new_company, provider_keys, dry_run } = body;
  const file = files?.[0];
  const given = [sent, template, file].filter((each) => each !== undefined);
  if (given.length !== 1) throw invalid('one of bundle, the file bundle, and template is required');
  const bundle =
    file === undefined
      ? template === undefined
        ? readBundleValue(sent)
        : await companyTemplate(services.portability.templates, template)
      : readBundle(file.bytes);
  return {
    bundle,
    company_id,
    new_company: new_company === undefined ? undefined : newCompany(fromText(new_company, 'new_company')),
    provider_keys:
      provider_keys === undefined ? undefined : providerKeys(fromText(provider_keys, 'provider_keys')),
    dry_run,
  };
}

/** A multipart body carries objects as text. */
function fromText(value: unknown, field: string): unknown {
  if (typeof value !== 'string') return value;
  if (isNestedDeeper(value, 4)) throw invalid(said`body.${field} is nested too deeply`);
  try {
    return JSON.parse(value);
  } catch {
    throw invalid(said`body.${field} is not JSON`);
  }
}
