import type { AgentRow } from '@acp/core';
import { notFound } from '@acp/kernel';

export interface AgentCall {
  subject: AgentRow;
  params: Readonly<Record<string, string>>;
}

/** The company in the path is the agent's own: another one is as absent as another agent. */
export function agentOf({ subject, params }: AgentCall): AgentRow {
  if (params.companyId !== subject.company_id) throw notFound();
  return subject;
}
