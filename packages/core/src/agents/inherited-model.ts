import type { Actor, CreateAgent } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { and, eq, isNotNull } from 'drizzle-orm';
import { hasDefaultProvider } from '../providers/index.ts';

const { agents } = schema;

/**
 * Provider and model of an agent hired by another one that names no provider: those of the agent that hires it, which could
 * not hire anyone able to work otherwise. None if the company has a default provider, or if either of them is not an `llm`.
 * @param adapter_type of the new agent
 * @param requested_by the agent whose approved request is carried out by a person
 */
export async function inheritedModel(
  tx: Tx,
  actor: Actor,
  { company_id, adapter_type }: { company_id: string; adapter_type: string },
  input: CreateAgent,
  requested_by: string | null = null,
): Promise<Pick<CreateAgent, 'provider_id' | 'model'>> {
  const hirer_id = actor.kind === 'agent' ? actor.agent_id : requested_by;
  if (hirer_id === null || input.provider_id !== undefined || adapter_type !== 'llm') return {};
  const [hirer] = await tx
    .select({ provider_id: agents.provider_id, model: agents.model })
    .from(agents)
    .where(and(eq(agents.id, hirer_id), eq(agents.company_id, company_id), isNotNull(agents.provider_id)));
  if (hirer === undefined || (await hasDefaultProvider(tx, company_id))) return {};
  return { provider_id: hirer.provider_id, model: input.model ?? hirer.model };
}
