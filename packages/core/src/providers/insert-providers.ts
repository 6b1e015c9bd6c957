import type { ProviderFamily } from '@acp/contract';
import { parseCloudCredentials } from '@acp/contract';
import { rowsOf, schema, type Tx } from '@acp/db';
import type { Vault } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { assertRoom } from '../bounds/index.ts';
import { providerPlace } from './providers.ts';

const { providers } = schema;

export interface NewProvider {
  id: string;
  name: string;
  adapter_type: ProviderFamily;
  base_url: string | null;
  enabled: boolean;
  embeddings: boolean;
  embedding_model: string | null;
  default_model: string | null;
  is_default: boolean;
  api_key: string | null;
}

/**
 * Inserts a list for an import, which has checked addresses and names.
 * @throws unavailable for a key without an encryption key, invalid for malformed cloud credentials
 */
export async function insertProviders(
  tx: Tx,
  company_id: string,
  list: readonly NewProvider[],
  vault: Vault,
): Promise<void> {
  if (list.length === 0) return;
  await assertRoom(tx, 'providers', company_id, list.length);
  const values = list.map(({ api_key, ...row }) => {
    if (row.adapter_type === 'family_cloud' && api_key !== null) parseCloudCredentials(api_key);
    const api_key_sealed = api_key === null ? null : vault.seal(api_key, providerPlace(row.id));
    return { ...row, company_id, api_key_sealed };
  });
  await tx.execute(sql`insert into providers ${rowsOf(providers, values)}`);
}
