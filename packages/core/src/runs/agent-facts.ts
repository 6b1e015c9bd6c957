import { adapterTypes } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { budgetHeld, scopesOfAgent } from '../agents/index.ts';
import { readOnlyInstance, runsPausedHere } from '../settings/index.ts';

/** What the admission knows about the agent. */
export interface AgentFacts {
  id: string;
  company_id: string;
  status: string;
  /** The result of `effectiveAdapter`. */
  adapter_type: string;
  max_concurrent_runs: number;
  max_issues_per_run: number;
  /** The emergency stop (decisions 7.7). */
  runs_paused: boolean;
  /** The trial or license has expired (decisions 1). */
  read_only: boolean;
  /** A budget of the company or the agent is exceeded and blocks its runs. */
  over_budget: boolean;
  /** The provider's quota is used up and not yet reset. */
  provider_paused: boolean;
}

const known = sql.raw(adapterTypes.map((type) => `'${type}'`).join(', '));
/**
 * The adapter of a run of agent `a` (specification, behaviour rule 2): a provider takes precedence, then the adapter type;
 * an empty or unknown one runs as `llm` (decisions 7.20).
 */
export const effectiveAdapter = sql`case when a.provider_id is null and a.adapter_type in (${known})
  then a.adapter_type else 'llm' end`;

/** Id of the default provider for agents of `a`'s company that name none; null: the instance's own provider is used. */
export const companyDefaultProvider = sql`(select p.id from providers p
  where p.company_id = a.company_id and p.is_default and p.enabled)`;

/** Columns of `AgentFacts` for the agent `a`. */
export const agentFactColumns = sql`a.id, a.company_id, a.status, ${effectiveAdapter} as adapter_type, a.max_concurrent_runs, a.max_issues_per_run,
  ${runsPausedHere} as runs_paused,
  ${readOnlyInstance} as read_only,
  ${budgetHeld(scopesOfAgent('a'))} as over_budget,
  exists (select from providers p where p.paused_until > now() and p.company_id = a.company_id
    and (p.id = a.provider_id or (a.provider_id is null and p.is_default and p.enabled and ${effectiveAdapter} = 'llm')))
    as provider_paused`;

/** Neither `a` nor its company is in the trash. */
export const agentPresent = sql`a.deleted_at is null
  and exists (select from companies c where c.id = a.company_id and c.deleted_at is null)`;

/** Undefined if the agent is in the trash or does not exist. */
export async function readAgentFacts(tx: Tx, agent_id: string): Promise<AgentFacts | undefined> {
  const { rows } = await tx.execute<{ [K in keyof AgentFacts]: AgentFacts[K] }>(
    sql`select ${agentFactColumns} from agents a where a.id = ${agent_id} and ${agentPresent}`,
  );
  return rows[0];
}
