import type { Actor, AdapterTest, AdapterType } from '@acp/contract';
import { type AgentRow, assertMayRunAs } from '@acp/core';
import type { Services } from '../../http/services.ts';

/**
 * Has a scheduler call the agent's adapter, or a replacement that the caller must be allowed to configure. Used by the API
 * and the agent's page.
 */
export async function testAdapter(
  services: Services,
  actor: Actor,
  agent: AgentRow,
  adapter_type?: AdapterType,
): Promise<AdapterTest> {
  const { id: agent_id, company_id } = agent;
  if (adapter_type !== undefined) {
    const adapter_config = agent.adapter_config as Record<string, unknown>;
    assertMayRunAs(actor, company_id, { adapter_type, adapter_config }, { rules: services.adapters });
  }
  const command = { agent_id, ...(adapter_type === undefined ? {} : { adapter_type }) };
  return services.command('test-adapter', command, { actor, company_id });
}
