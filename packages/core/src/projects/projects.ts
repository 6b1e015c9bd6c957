import type { Actor } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { and, eq, isNull } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';

const { projects } = schema;

export type ProjectRow = typeof projects.$inferSelect;

/** Undefined also for another company's and for a trashed one. */
export async function findProject(
  tx: Tx,
  company_id: string,
  project_id: string,
): Promise<ProjectRow | undefined> {
  if (!isUuid(project_id)) return undefined;
  const [row] = await tx
    .select()
    .from(projects)
    .where(
      and(eq(projects.id, project_id), eq(projects.company_id, company_id), isNull(projects.deleted_at)),
    );
  return row;
}

export interface NewProject {
  name: string;
  description?: string | null;
  goal_id?: string | null;
  lead_agent_id?: string | null;
  repo_url?: string | null;
}

/** The ids in it are the caller's to check: they must be the company's. */
export async function createProject(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: NewProject,
): Promise<ProjectRow> {
  const [row] = await tx
    .insert(projects)
    .values({
      company_id,
      name: input.name,
      description: input.description,
      goal_id: input.goal_id,
      lead_agent_id: input.lead_agent_id,
      repo_url: input.repo_url,
    })
    .returning();
  await recordChanges(tx, actor, [
    {
      company_id,
      action: 'project.created',
      entity_type: 'project',
      entity_id: row!.id,
      details: { name: input.name },
    },
  ]);
  return row!;
}
