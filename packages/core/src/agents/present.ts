import type { Agent, AgentKey, AgentRole, AgentStatus, AgentSummary } from '@acp/contract';
import { schema } from '@acp/db';
import { shownColumns } from '../trash/index.ts';

/** The projection used in lists and events: no prompt, no configuration. */
export function summarizeAgent(row: AgentRow): AgentSummary {
  return {
    id: row.id,
    company_id: row.company_id,
    name: row.name,
    role: row.role as AgentRole,
    status: row.status as AgentStatus,
    adapter_type: row.adapter_type,
    title: row.title,
    heartbeat_enabled: row.heartbeat_enabled,
    heartbeat_interval_sec: row.heartbeat_interval_sec,
    max_concurrent_runs: row.max_concurrent_runs,
    max_issues_per_run: row.max_issues_per_run,
    reports_to: row.reports_to,
    home_dir: row.home_dir,
    provider_id: row.provider_id,
    model: row.model,
    externally_available: row.externally_available,
    blocked_notify_enabled: row.blocked_notify_enabled,
    auto_extract_findings: row.auto_extract_findings,
    files_as_knowledge: row.files_as_knowledge,
    parent_agent_id: row.parent_agent_id,
    subagent_depth: row.subagent_depth,
    spawn_reason: row.spawn_reason,
    current_prompt_version_number: row.current_prompt_version_number,
    gepa_auto_promote: row.gepa_auto_promote,
    gepa_provider_override: row.gepa_provider_override,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

export function presentAgent(row: AgentRow): Agent {
  return {
    ...summarizeAgent(row),
    adapter_config: row.adapter_config as Record<string, unknown>,
    description: row.description,
    system_prompt: row.system_prompt,
  };
}

/** Metadata only: neither the key nor its hash. */
export function presentKey(row: AgentKeyRow): AgentKey {
  return {
    id: row.id,
    agent_id: row.agent_id,
    company_id: row.company_id,
    key_prefix: row.key_prefix,
    label: row.label,
    created_by_user_id: row.created_by_user_id,
    created_at: row.created_at,
    last_used_at: row.last_used_at,
    expires_at: row.expires_at,
  };
}

export type AgentRow = typeof schema.agents.$inferSelect;

/** As shown to clients: references to trashed entities are null. */
export const agentColumns = shownColumns(schema.agents);
export type AgentKeyRow = typeof schema.agent_api_keys.$inferSelect;
