import type { Actor, AdapterTest, AdapterType } from '@acp/contract';
import type { AgentRow } from '@acp/core';
import type { Services } from '../../http/services.ts';

/** Has a scheduler call the agent's adapter, or another in its place. For the API and the agent's page. */
export async function testAdapter(
  services: Services,
  actor: Actor,
  { id: agent_id, company_id }: Pick<AgentRow, 'id' | 'company_id'>,
  adapter_type?: AdapterType,
): Promise<AdapterTest> {
  const command = { agent_id, ...(adapter_type === undefined ? {} : { adapter_type }) };
  // What the scheduler's handler gives back: its row holds answers to the schema.
  return (await services.command('test-adapter', command, { actor, company_id })) as AdapterTest;
}
