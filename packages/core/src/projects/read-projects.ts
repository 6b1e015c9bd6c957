import { commaList, type ListProjects, type Project, projectStatuses } from '@acp/contract';
import { byCreation, containing, newestFirst, type Page, schema, type Tx } from '@acp/db';
import { isUuid, oneNamed } from '@acp/kernel';
import { and, eq, inArray, isNull, sql } from 'drizzle-orm';
import { ofLiveCompany } from '../companies/index.ts';
import { presentProject, type ProjectRow, projectColumns } from './present.ts';

const { companies, projects } = schema;

/** Also undefined for another company's project and a trashed one. */
export async function findCompanyProject(
  tx: Tx,
  company_id: string,
  project_id: string,
): Promise<ProjectRow | undefined> {
  const row = await findProject(tx, project_id);
  return row?.company_id === company_id ? row : undefined;
}

/** Loads a project for its scope; also undefined for trashed projects and those of trashed companies. */
export async function findProject(tx: Tx, project_id: string): Promise<ProjectRow | undefined> {
  if (!isUuid(project_id)) return undefined;
  const [row] = await tx
    .select(projectColumns)
    .from(projects)
    .innerJoin(companies, ofLiveCompany(projects.company_id))
    .where(and(eq(projects.id, project_id), isNull(projects.deleted_at)));
  return row;
}

/**
 * Finds a project of the company by id or, ignoring case, by a unique name.
 * @throws notFound, conflict if several have the name
 */
export async function projectNamed(tx: Tx, company_id: string, word: string): Promise<ProjectRow> {
  const named = isUuid(word) ? eq(projects.id, word) : sql`lower(${projects.name}) = lower(${word})`;
  const found = await tx
    .select(projectColumns)
    .from(projects)
    .where(and(eq(projects.company_id, company_id), isNull(projects.deleted_at), named))
    .limit(10);
  return oneNamed('project', word, found, ({ name }) => name);
}

/** Those of the ids that are projects of the company and not in the trash. */
export async function presentProjectIds(
  tx: Tx,
  company_id: string,
  ids: readonly (string | null)[],
): Promise<string[]> {
  const wanted = ids.filter((id) => id !== null);
  if (wanted.length === 0) return [];
  const named = sql`${projects.id} = any(${sql.param(wanted)}::uuid[])`;
  const rows = await tx
    .select({ id: projects.id })
    .from(projects)
    .where(and(eq(projects.company_id, company_id), isNull(projects.deleted_at), named));
  return rows.map(({ id }) => id);
}

/** Newest first, 50 a page. @throws invalid for an unknown status */
export async function listProjects(tx: Tx, company_id: string, query: ListProjects): Promise<Page<Project>> {
  const statuses = commaList(query.status, projectStatuses, 'status');
  const page = newestFirst(projects.created_at, projects.id, query, 50);
  const rows = tx
    .select(projectColumns)
    .from(projects)
    .where(
      and(
        eq(projects.company_id, company_id),
        isNull(projects.deleted_at),
        statuses === undefined ? undefined : inArray(projects.status, statuses),
        query.goalId === undefined ? undefined : eq(projects.goal_id, query.goalId),
        containing(query.q, [projects.name]),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentProject);
}
