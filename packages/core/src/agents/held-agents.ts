/** Shared by pauses through budgets and pauses with an ancestor. */
import type { AgentStatus } from '@acp/contract';
import { schema } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { type AgentRow, summarizeAgent } from './present.ts';

const { agents } = schema;

/** The status of an agent that may work: `running` while a run of it does. */
export const runningOr = (status: AgentStatus): SQL =>
  sql`case when exists (select from heartbeat_runs run where run.agent_id = ${agents.id} and run.status = 'running')
    then 'running' else ${status}::text end`;

/** Columns of an agent that nothing blocks any more. */
export const released = {
  status: runningOr('idle'),
  pause_reason: null,
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
