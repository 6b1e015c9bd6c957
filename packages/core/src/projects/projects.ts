import type { Actor, CreateProject, Project, UpdateProject } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, invalid, notFound } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { assertRepository } from './repository-rules.ts';
import { assertReferences, moveToTrash, withoutUnchanged } from '../trash/index.ts';
import { presentProject, type ProjectRow, summarizeProject, projectColumns } from './present.ts';

const { projects } = schema;

/** @throws invalid for a goal or agent from another company, and for a module backend without endpoint */
export async function createProject(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateProject,
): Promise<Project> {
  await assertReferences(tx, 'projects', company_id, input);
  assertBackend(input);
  assertRepository(actor, company_id, null, input);
  await assertRoom(tx, 'projects', company_id);
  const [row] = await tx
    .insert(projects)
    .values({ company_id, ...fieldsOf(input), name: input.name })
    .returning(projectColumns);
  const event = { type: 'project_created', data: summarizeProject(row!) } as const;
  await recordChanges(tx, actor, [{ ...changeOf(row!, 'project.created'), event }]);
  return presentProject(row!);
}

/** Changes a project; absent fields stay. @throws like `createProject` */
export async function updateProject(
  tx: Tx,
  actor: Actor,
  project: ProjectRow,
  body: UpdateProject,
): Promise<Project> {
  const input = withoutUnchanged('projects', project, body);
  await assertReferences(tx, 'projects', project.company_id, input, project.id);
  // The scope's row may be outdated: an admin who names repository and secret must not have the repository exchanged meanwhile.
  const [before] = await tx
    .select()
    .from(projects)
    .where(and(eq(projects.id, project.id), isNull(projects.deleted_at)))
    .for('no key update');
  if (!before) throw notFound();
  assertBackend({ ...presentProject(before), ...fieldsOf(input) });
  assertRepository(actor, project.company_id, before, input);
  const [row] = await tx
    .update(projects)
    .set({ ...fieldsOf(input), updated_at: sql`now()` })
    .where(and(eq(projects.id, project.id), isNull(projects.deleted_at)))
    .returning(projectColumns);
  if (!row) throw notFound();
  await recordChanges(tx, actor, [changeOf(row, 'project.updated', { fields: Object.keys(input) })]);
  return presentProject(row);
}

/** Moves it to the trash. Its issues stay: a project groups them, but does not contain them. */
export async function deleteProject(tx: Tx, actor: Actor, project: ProjectRow): Promise<void> {
  const [row] = await tx
    .update(projects)
    .set({ deleted_at: sql`now()`, updated_at: sql`now()` })
    .where(and(eq(projects.id, project.id), isNull(projects.deleted_at)))
    .returning(projectColumns);
  if (!row) throw notFound();
  const { id, company_id, name } = row;
  await moveToTrash(tx, actor, { type: 'project', entity_id: id, company_id, name });
  await recordChanges(tx, actor, [changeOf(row, 'project.deleted')]);
}

/** Restores it from the trash. @throws conflict if it is not there */
export async function restoreProject(tx: Tx, actor: Actor, project_id: string): Promise<void> {
  const [row] = await tx
    .update(projects)
    .set({ deleted_at: null, updated_at: sql`now()` })
    .where(eq(projects.id, project_id))
    .returning(projectColumns);
  if (!row) throw conflict('the project is gone');
  await recordChanges(tx, actor, [changeOf(row, 'project.restored')]);
}

/** Deletes it for good. @returns the deleted ids */
export async function purgeProject(tx: Tx, project_id: string): Promise<string[]> {
  await tx.delete(projects).where(eq(projects.id, project_id));
  return [project_id];
}

/** The fields a body may set. */
function fieldsOf(input: UpdateProject): UpdateProject {
  const { name, description, status, goal_id, lead_agent_id } = input;
  const { repo_url, file_backend, module_endpoint, default_worker_tags } = input;
  const { base_branch, branch_template, repo_secret, setup_command, check_command, env } = input;
  const { push_after_run, close_on_merge, workspace_days } = input;
  const fields = { name, description, status, goal_id, lead_agent_id, repo_url, file_backend };
  const repository = { base_branch, branch_template, repo_secret, setup_command, check_command, env };
  const policies = { push_after_run, close_on_merge, workspace_days };
  const all = { ...fields, module_endpoint, default_worker_tags, ...repository, ...policies };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function assertBackend({ file_backend, module_endpoint }: UpdateProject): void {
  if (file_backend === 'module' && !module_endpoint)
    throw invalid('module_endpoint is required where file_backend is module');
}

function changeOf(row: ProjectRow, action: string, details: Record<string, unknown> = {}): Change {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'project',
    entity_id: row.id,
    details: { name: row.name, ...details },
  };
}
