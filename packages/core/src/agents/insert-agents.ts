import type { Actor } from '@acp/contract';
import { rowsOf, schema, type Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import { inArray, sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { summarizeAgent } from './present.ts';

const { agent_config_revisions, agent_runtime_states, agents, prompt_versions } = schema;

export interface NewAgent {
  id: string;
  name: string;
  role: string;
  title: string | null;
  description: string | null;
  /** Empty: none. */
  system_prompt: string;
  reports_to: string | null;
  provider_id: string | null;
  model: string | null;
  adapter_type: string;
  adapter_config: Record<string, unknown>;
  heartbeat_interval_sec: number;
  max_concurrent_runs: number;
  max_issues_per_run: number;
  externally_available: boolean;
  blocked_notify_enabled: boolean;
  auto_extract_findings: boolean;
  gepa_auto_promote: boolean;
  gepa_provider_override: string | null;
  permissions: Readonly<Record<string, boolean>>;
}

/**
 * Inserts a list of agents for an admin's import, which has checked configurations, providers and the tree. Each gets what a
 * hired agent has: runtime state, first revision, first prompt version. Heartbeats are off.
 */
export async function insertAgents(
  tx: Tx,
  actor: Actor,
  company_id: string,
  list: readonly NewAgent[],
): Promise<void> {
  if (list.length === 0) return;
  await assertRoom(tx, 'agents', company_id, list.length);
  const { user_id } = actorColumns(actor);
  const states = list.map(({ id }) => ({ agent_id: id }));
  const revisions = list.map(({ id, adapter_config }) => ({
    id: newId(),
    agent_id: id,
    config_json: adapter_config,
    reason: 'imported',
    created_by: user_id,
  }));
  const versions = list.map(({ id, system_prompt }) => ({
    agent_id: id,
    version_number: 1,
    system_prompt,
    source: 'manual',
  }));
  const values = list.map((row) => ({
    ...row,
    system_prompt: row.system_prompt || null,
    heartbeat_enabled: false,
    company_id,
  }));
  await tx.execute(sql`insert into agents ${rowsOf(agents, values)}`);
  await tx.execute(sql`insert into agent_runtime_states ${rowsOf(agent_runtime_states, states)}`);
  await tx.execute(sql`insert into agent_config_revisions ${rowsOf(agent_config_revisions, revisions)}`);
  await tx.execute(sql`insert into prompt_versions ${rowsOf(prompt_versions, versions)}`);
  const ids = list.map(({ id }) => id);
  const made = await tx.select().from(agents).where(inArray(agents.id, ids));
  await recordChanges(
    tx,
    actor,
    made.map((row) => ({
      company_id,
      action: 'agent.created',
      entity_type: 'agent',
      entity_id: row.id,
      details: { name: row.name, role: row.role },
      event: { type: 'agent_created', data: summarizeAgent(row) },
    })),
  );
}
