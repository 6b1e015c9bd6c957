import type { Actor, AgentDefaults, UpdateAgentDefaults } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { notFound } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { type CompanyRow, findCompany } from './companies.ts';

const { companies } = schema;

/** The company's defaults for new agents. */
export async function agentDefaults(tx: Tx, company_id: string): Promise<AgentDefaults> {
  const company = await findCompany(tx, company_id);
  if (!company) throw notFound();
  return present(company);
}

/** Changes the given fields; an empty adapter type means `llm`, as for an agent. The agents slice, which knows valid configurations, checks them first. */
export async function setAgentDefaults(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: UpdateAgentDefaults,
): Promise<AgentDefaults> {
  const [company] = await tx
    .update(companies)
    .set({
      agent_default_adapter_type: input.adapter_type === '' ? 'llm' : input.adapter_type,
      agent_default_adapter_config: input.adapter_config,
      agent_default_heartbeat_enabled: input.heartbeat_enabled,
      agent_default_heartbeat_interval_sec: input.heartbeat_interval_sec,
      updated_at: sql`now()`,
    })
    .where(and(eq(companies.id, company_id), isNull(companies.deleted_at)))
    .returning();
  if (!company) throw notFound();
  // Field names only: a configuration may contain what not every reader of the activity should see.
  const details = { fields: Object.keys(input) };
  await recordChanges(tx, actor, [
    {
      company_id,
      action: 'company.agent_defaults_updated',
      entity_type: 'company',
      entity_id: company_id,
      details,
    },
  ]);
  return present(company);
}

function present(company: CompanyRow): AgentDefaults {
  return {
    adapter_type: company.agent_default_adapter_type,
    adapter_config: company.agent_default_adapter_config as Record<string, unknown>,
    heartbeat_enabled: company.agent_default_heartbeat_enabled,
    heartbeat_interval_sec: company.agent_default_heartbeat_interval_sec,
  };
}
