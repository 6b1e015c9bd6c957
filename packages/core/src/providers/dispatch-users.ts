import { schema, type Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { and, eq, isNull, or, sql } from 'drizzle-orm';

const { agents, providers } = schema;

// Clocks of machines differ: a dispatch that runs early would find the provider still paused.
const MARGIN_MS = 1000;

/** Dispatches agents that wait for the paused provider, also by default. @param at the end of the pause; absent: now */
export async function dispatchUsers(tx: Tx, provider_id: string, at?: Date): Promise<void> {
  const users = await tx
    .select({ agent_id: agents.id })
    .from(agents)
    .innerJoin(providers, and(eq(providers.id, provider_id), eq(providers.company_id, agents.company_id)))
    .where(
      and(
        or(
          eq(agents.provider_id, provider_id),
          and(isNull(agents.provider_id), sql`${providers.is_default}`),
        ),
        isNull(agents.deleted_at),
      ),
    );
  const options = at === undefined ? {} : { start_after: new Date(at.getTime() + MARGIN_MS) };
  await enqueueMany(tx, 'dispatch-agent', users, options);
}
