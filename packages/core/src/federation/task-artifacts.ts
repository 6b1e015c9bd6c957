import { type Tx, withinBytes } from '@acp/db';
import { sql } from 'drizzle-orm';

/** A result of a task: a work product, or a file attached by an agent. */
export interface TaskArtifact {
  id: string;
  name: string;
  /** Only for work products. */
  text: string | null;
  url: string | null;
  /** Only for work products that have any. */
  metadata: Record<string, unknown> | null;
  /** Only for files; downloaded through the attachment. */
  file: { content_type: string; size_bytes: number } | null;
  /** `report`, `pull_request` …; `file`. */
  type: string;
  changed_at: Date;
}

/** Maximum number per task. */
export const MAX_TASK_ARTIFACTS = 100;

interface ArtifactRow extends Record<string, unknown> {
  task_id: string;
  id: string;
  name: string;
  text: string | null;
  url: string | null;
  metadata: string | null;
  content_type: string | null;
  size_bytes: string | null;
  type: string;
  changed_at: string;
}

/** The newest of each task, oldest first, 4 MB at most. Clients don't see what people of the company attached. */
export async function taskArtifacts(
  tx: Tx,
  task_ids: readonly string[],
): Promise<Map<string, TaskArtifact[]>> {
  if (task_ids.length === 0) return new Map();
  const things = sql`
    select * from (
      select w.id, w.title as name, w.summary as text, w.url, nullif(w.metadata, '{}')::text as metadata,
        null::text as content_type, null::bigint as size_bytes,
        w.type, w.created_at, w.updated_at as changed_at
      from work_products w where w.issue_id = task.id
      union all
      select a.id, a.filename, null, null, null, a.content_type, a.size_bytes, 'file', a.created_at, a.created_at
      from attachments a where a.issue_id = task.id and a.created_by_agent_id is not null
    ) each order by created_at desc, id desc limit ${MAX_TASK_ARTIFACTS}`;
  const { rows } = await tx.execute<ArtifactRow>(sql`
    select task.id as task_id, thing.* from unnest(${`{${task_ids.join(',')}}`}::uuid[]) as task(id)
    cross join lateral (${withinBytes(things, ['name', 'text', 'url', 'metadata'])}) thing`);
  const byTask = new Map<string, TaskArtifact[]>();
  for (const row of rows) byTask.set(row.task_id, [toArtifact(row), ...(byTask.get(row.task_id) ?? [])]);
  return byTask;
}

function toArtifact({
  id,
  name,
  text,
  url,
  metadata,
  content_type,
  size_bytes,
  type,
  changed_at,
}: ArtifactRow): TaskArtifact {
  const file = content_type === null ? null : { content_type, size_bytes: Number(size_bytes) };
  return {
    id,
    name,
    text,
    url,
    metadata: metadata === null ? null : (JSON.parse(metadata) as Record<string, unknown>),
    file,
    type,
    changed_at: new Date(changed_at),
  };
}
