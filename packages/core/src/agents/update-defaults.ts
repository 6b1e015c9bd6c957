import type { Actor, AgentDefaults, UpdateAgentDefaults } from '@acp/contract';
import type { Tx } from '@acp/db';
import { agentDefaults, lockCompany, setAgentDefaults } from '../companies/index.ts';
import { type AdapterRules, assertAdapter } from './adapter-rules.ts';

/** @throws invalid for a configuration that does not fit its adapter or names something the operator has not listed */
export async function updateAgentDefaults(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: UpdateAgentDefaults,
  rules?: AdapterRules,
): Promise<AgentDefaults> {
  if (input.adapter_config !== undefined || input.adapter_type !== undefined) {
    // Type and configuration may be changed one by one, and have to fit together.
    await lockCompany(tx, company_id);
    const before = await agentDefaults(tx, company_id);
    assertAdapter(actor, company_id, before.adapter_config, { ...before, ...input }, rules);
  }
  return setAgentDefaults(tx, actor, company_id, input);
}
