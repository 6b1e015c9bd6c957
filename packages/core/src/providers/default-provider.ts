import { type Tx, schema } from '@acp/db';
import { and, eq, type SQL } from 'drizzle-orm';

const { providers } = schema;

/** Whether the company has a default provider for agents that name none. */
export async function hasDefaultProvider(tx: Tx, company_id: string): Promise<boolean> {
  return hasEnabled(tx, company_id, eq(providers.is_default, true));
}

/** Whether the company has any provider that is enabled. */
export async function hasProvider(tx: Tx, company_id: string): Promise<boolean> {
  return hasEnabled(tx, company_id);
}

async function hasEnabled(tx: Tx, company_id: string, which?: SQL): Promise<boolean> {
  const [row] = await tx
    .select({ id: providers.id })
    .from(providers)
    .where(and(eq(providers.company_id, company_id), eq(providers.enabled, true), which))
    .limit(1);
  return row !== undefined;
}
