import type { BoundKind } from '@acp/contract';
import { schema } from '@acp/db';
import { eq, isNotNull, isNull, ne, or, type SQL } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';

interface Source {
  /** Id of what the bound is per; an index begins with it, so that counting reads no other rows. */
  owner: PgColumn;
  /**
   * Which rows count, in parts where each has an index of its own; absent: all, including those in the trash, or deleting and
   * creating in turn would have no end.
   */
  where?: readonly SQL[];
}

export const sources: Readonly<Record<BoundKind, Source>> = {
  // Sub-agents end with their issue and go by themselves; others stay until someone deletes them.
  agents: {
    owner: schema.agents.company_id,
    where: [or(ne(schema.agents.status, 'terminated'), isNull(schema.agents.parent_agent_id))!],
  },
  projects: { owner: schema.projects.company_id },
  goals: { owner: schema.goals.company_id },
  labels: { owner: schema.labels.company_id },
  skills: { owner: schema.skills.company_id },
  notes: {
    owner: schema.notes.company_id,
    where: [isNull(schema.notes.deleted_at), isNotNull(schema.notes.deleted_at)],
  },
  routines: { owner: schema.routines.company_id },
  chats: { owner: schema.chats.company_id },
  secrets: { owner: schema.secrets.company_id },
  providers: { owner: schema.providers.company_id },
  budget_policies: { owner: schema.budget_policies.company_id },
  model_prices: { owner: schema.model_prices.company_id },
  webhooks: { owner: schema.webhooks.company_id, where: [isNull(schema.webhooks.issue_id)] },
  a2a_peers: { owner: schema.a2a_peers.company_id },
  mcp_servers: { owner: schema.mcp_servers.company_id },
  channels: { owner: schema.channels.company_id },
  plugins: { owner: schema.plugins.company_id },
  members: { owner: schema.memberships.company_id },
  invites: { owner: schema.invites.company_id, where: [isNull(schema.invites.accepted_at)] },
  board_user_keys: { owner: schema.board_user_keys.company_id },
  approvals: { owner: schema.approvals.company_id, where: [eq(schema.approvals.status, 'pending')] },
  agent_keys: { owner: schema.agent_api_keys.agent_id, where: [isNull(schema.agent_api_keys.run_id)] },
  routine_triggers: { owner: schema.routine_triggers.routine_id },
  documents: { owner: schema.documents.issue_id },
  attachments: { owner: schema.attachments.issue_id },
  work_products: { owner: schema.work_products.issue_id },
  execution_decisions: { owner: schema.execution_decisions.issue_id },
  relations: { owner: schema.issue_relations.source_issue_id },
  saved_views: { owner: schema.saved_views.company_id },
};
