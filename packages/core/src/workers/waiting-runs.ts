import { type Run, sharesModel, type SharedModel } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { isOnline } from './present.ts';

/** What keeps a run waiting for the fleet. */
export interface FleetWait {
  /** A worker that may take its task is online; null while the task is being queued. */
  served: boolean | null;
  tags_required: readonly string[];
  /** The model that the worker must share; null: any. */
  model: string | null;
}

interface WaitRow extends Record<string, unknown> {
  run_id: string;
  task_id: string | null;
  tags_required: string[] | null;
  model_providers: string[] | null;
  model: string | null;
  shared: SharedModel[][];
}

/** By the run's id; without those that a worker has taken, or that no worker will. One statement, if any may be waiting. */
export async function fleetWaits(
  tx: Tx,
  runs: readonly Pick<Run, 'id' | 'status' | 'adapter_type'>[],
): Promise<ReadonlyMap<string, FleetWait>> {
  const run_ids = runs
    .filter(({ status, adapter_type }) => status === 'running' && adapter_type === 'remote')
    .map(({ id }) => id);
  if (run_ids.length === 0) return new Map();
  const { rows } = await tx.execute<WaitRow>(sql`
    select r.id as run_id, t.id as task_id, t.tags_required, t.model_providers, t.model,
      (select coalesce(jsonb_agg(distinct w.shared_models), '[]') from workers w
        where w.status = 'approved' and ${isOnline} and w.tags @> t.tags_required) as shared
    from heartbeat_runs r left join remote_tasks t on t.heartbeat_run_id = r.id
    where r.id in ${run_ids} and r.status = 'running' and r.cancel_requested_at is null
      and coalesce(t.status, 'queued') = 'queued'`);
  return new Map(
    rows.map(({ run_id, task_id, tags_required, model_providers, model, shared }) => {
      const wants = { providers: model_providers ?? [], model };
      const served = task_id === null ? null : shared.some((models) => sharesModel(models, wants));
      return [run_id, { served, tags_required: tags_required ?? [], model }];
    }),
  );
}
