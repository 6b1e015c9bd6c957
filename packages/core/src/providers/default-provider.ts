import { type Tx, schema } from '@acp/db';
import { and, eq } from 'drizzle-orm';

const { providers } = schema;

/** Whether the company has a default provider for agents that name none. */
export async function hasDefaultProvider(tx: Tx, company_id: string): Promise<boolean> {
  const [row] = await tx
    .select({ id: providers.id })
    .from(providers)
    .where(
      and(eq(providers.company_id, company_id), eq(providers.is_default, true), eq(providers.enabled, true)),
    );
  return row !== undefined;
}

/** Whether the company has any provider that is enabled. */
export async function hasProvider(tx: Tx, company_id: string): Promise<boolean> {
  const [row] = await tx
    .select({ id: providers.id })
    .from(providers)
    .where(and(eq(providers.company_id, company_id), eq(providers.enabled, true)))
    .limit(1);
  return row !== undefined;
}
