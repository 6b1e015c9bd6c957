import { type Tx, schema } from '@acp/db';
import { and, eq } from 'drizzle-orm';

const { providers } = schema;

/** Whether agents of the company that name no provider are served by one of its own. */
export async function hasDefaultProvider(tx: Tx, company_id: string): Promise<boolean> {
  const [row] = await tx
    .select({ id: providers.id })
    .from(providers)
    .where(
      and(eq(providers.company_id, company_id), eq(providers.is_default, true), eq(providers.enabled, true)),
    );
  return row !== undefined;
}
