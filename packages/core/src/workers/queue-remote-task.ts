import { adapterTraits, RemoteConfig, createValidator, type TaskPayload } from '@acp/contract';
import { signal, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { type ClaimedRun, handOverRun } from '../runs/index.ts';

const readConfig = createValidator(RemoteConfig, 'adapter_config');
const TIMEOUT_SEC = 600;

/**
 * Queues the run's task for the fleet and releases its lease in the same transaction (decisions 7.25): from now on the run ends
 * with the task. The required tags are the first non-empty list of agent, project and company (specification, Claim and tag
 * rules 3); an `llm` task requires its configured provider and the agent's model, if they are named (4).
 * @returns false if the run is no longer ours: the caller rolls back
 * @throws invalid for a malformed adapter_config
 */
export async function queueRemoteTask(tx: Tx, run: ClaimedRun, payload: TaskPayload): Promise<boolean> {
  const config = readConfig(payload.adapter_config);
  const timeout_sec = config.timeout_seconds ?? TIMEOUT_SEC;
  // With other adapters the worker's own program chooses the model.
  const asksModel = adapterTraits(config.local_adapter_type ?? 'llm').runs_as === 'model';
  const providers = asksModel && config.provider !== undefined ? [config.provider] : [];
  if (!(await handOverRun(tx, run))) return false;
  const { rows } = await tx.execute<{ id: string; tags_required: string[] }>(sql`
    with tier as (
      select ${JSON.stringify(config.tags ?? [])}::jsonb as tags, 1 as place
      union all
      select p.default_worker_tags, 2 from issues i join projects p on p.id = i.project_id and p.deleted_at is null
        where i.id = ${run.issue_id}::uuid
      union all
      select c.default_worker_tags, 3 from companies c where c.id = ${run.company_id}
    ), needed as (
      select coalesce((select tags from tier where jsonb_array_length(tags) > 0 order by place limit 1), '[]'::jsonb) as tags,
        ${JSON.stringify(providers)}::jsonb as providers,
        case when ${asksModel} then coalesce(a.model, ${config.model ?? null}) end as model
      from agents a where a.id = ${run.agent_id}
    )
    insert into remote_tasks (heartbeat_run_id, agent_id, company_id, tags_required, model_providers, model, route, payload,
      timeout_sec, deadline)
    select ${run.run_id}, ${run.agent_id}, ${run.company_id}::uuid, tags, providers, model,
      md5(jsonb_build_array(${run.company_id}::text, tags, providers, model)::text), ${JSON.stringify(payload)}::jsonb,
      ${timeout_sec}, clock_timestamp() + make_interval(secs => ${timeout_sec})
    from needed
    returning id, tags_required`);
  // The agent is gone: its runs are being cancelled.
  if (rows.length === 0) return false;
  signal(tx, 'tasks', '');
  const task = rows[0]!;
  await recordChanges(tx, run.actor, [
    {
      company_id: run.company_id,
      action: 'remote_task.queued',
      entity_type: 'remote_task',
      entity_id: task.id,
      details: { run_id: run.run_id, agent_id: run.agent_id, tags_required: task.tags_required },
    },
  ]);
  return true;
}
