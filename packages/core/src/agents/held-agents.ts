/** Shared by pauses through budgets and pauses with an ancestor. */
import { sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { type AgentRow, summarizeAgent } from './present.ts';
import { runningOr } from './status.ts';

/** Columns of an agent that nothing blocks any more. */
export const released = {
  status: runningOr('idle'),
  pause_reason: null,
  budget_paused: false,
  paused_with_parent: false,
  updated_at: sql`now()`,
};

export function holdChange(row: AgentRow, action: 'agent.paused' | 'agent.resumed', reason: string): Change {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'agent',
    entity_id: row.id,
    details: { reason },
    event: { type: 'agent_updated', data: summarizeAgent(row) },
  };
}
