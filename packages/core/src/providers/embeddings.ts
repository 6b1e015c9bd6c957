import { embeddingFamilies, type Provider } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { presentProvider } from './present.ts';

const { providers } = schema;

/**
 * The provider that computes the company's embeddings (specification, Providers): the designated one if it is enabled and of a
 * capable family, otherwise chosen automatically: vendors' own endpoints first, then the oldest. Null if there is none.
 */
export async function embeddingsProvider(tx: Tx, company_id: string): Promise<Provider | null> {
  const hosted = sql`${providers.adapter_type} = 'family_chat_a' and ${providers.base_url} is null`;
  const [row] = await tx
    .select()
    .from(providers)
    .where(
      and(
        eq(providers.company_id, company_id),
        eq(providers.enabled, true),
        inArray(providers.adapter_type, [...embeddingFamilies]),
      ),
    )
    .orderBy(sql`${providers.embeddings} desc, (${hosted}) desc`, providers.created_at, providers.id)
    .limit(1);
  return row === undefined ? null : presentProvider(row);
}
