import type { Actor } from '@acp/contract';
import { rowsOf, schema, type Tx } from '@acp/db';
import { inArray, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { summarizeProject } from './present.ts';

const { projects } = schema;

export interface NewProject {
  id: string;
  name: string;
  description: string | null;
  status: string;
  goal_id: string | null;
  lead_agent_id: string | null;
  repo_url: string | null;
  file_backend: string;
  module_endpoint: string | null;
  default_worker_tags: readonly string[];
  base_branch: string | null;
  branch_template: string | null;
  repo_secret: string | null;
  setup_command: string | null;
  check_command: string | null;
  env: Readonly<Record<string, string>>;
  push_after_run: boolean;
  close_on_merge: boolean;
  workspace_days: number;
}

/** Inserts a list for an import, which has checked its references. */
export async function insertProjects(
  tx: Tx,
  actor: Actor,
  company_id: string,
  list: readonly NewProject[],
): Promise<void> {
  if (list.length === 0) return;
  await assertRoom(tx, 'projects', company_id, list.length);
  const values = list.map((row) => ({ ...row, company_id }));
  await tx.execute(sql`insert into projects ${rowsOf(projects, values)}`);
  const ids = list.map(({ id }) => id);
  const made = await tx.select().from(projects).where(inArray(projects.id, ids));
  await recordChanges(
    tx,
    actor,
    made.map((row) => ({
      company_id,
      action: 'project.created',
      entity_type: 'project',
      entity_id: row.id,
      details: { name: row.name },
      event: { type: 'project_created', data: summarizeProject(row) },
    })),
  );
}
