import { schema, type Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { and, eq, isNull, or, sql } from 'drizzle-orm';

const { agents, providers } = schema;

// The clocks of two machines differ: a dispatch that came early would find the pause not over.
const MARGIN_MS = 1000;

/** Dispatches the agents of a provider, and of a default those that name none: what its pause has kept pending can run. @param at the end of the pause, absent: now */
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
