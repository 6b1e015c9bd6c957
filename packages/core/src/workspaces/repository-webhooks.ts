import type { Actor, NewRepositoryWebhook, RepositoryWebhook } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { isUuid, newId, notFound, type Vault } from '@acp/kernel';
import { enqueue } from '@acp/queue';
import { and, eq, getTableColumns, isNull, sql } from 'drizzle-orm';
import { randomBytes } from 'node:crypto';
import { recordChanges } from '../activity/index.ts';
import {
  answerableUser,
  type Leaving,
  type LeftCredential,
  ofLiveCompany,
  rowsLostBy,
} from '../companies/index.ts';
import type { ProjectRow } from '../projects/index.ts';
import { branchesOf, type HostRequest, nameOfEvent, SECRET_PREFIX, verifyHost } from './repository-events.ts';

const { companies, projects, repository_webhooks: hooks } = schema;

type HookRow = typeof hooks.$inferSelect;

/** Minimum interval in seconds between checks of a workspace caused by webhooks. */
const PAUSE_SEC = 5;

/** The location of a secret, for the vault: sealed for one address, it can't be opened for another. */
const secretPlace = (public_id: string) => `repository_webhooks/${public_id}`;

/** Null if the project has none. */
export async function findRepositoryWebhook(
  tx: Tx,
  project: { id: string },
): Promise<RepositoryWebhook | null> {
  const [row] = await tx.select().from(hooks).where(eq(hooks.project_id, project.id));
  return row === undefined ? null : present(row);
}

/** @throws notFound */
export async function repositoryWebhookOf(tx: Tx, project: { id: string }): Promise<RepositoryWebhook> {
  const found = await findRepositoryWebhook(tx, project);
  if (found === null) throw notFound();
  return found;
}

/** Creates a new address and a new secret; earlier ones stop working. @throws unavailable without an encryption key */
export async function createRepositoryWebhook(
  tx: Tx,
  actor: Actor,
  project: Pick<ProjectRow, 'id' | 'company_id' | 'name'>,
  vault: Vault,
): Promise<NewRepositoryWebhook> {
  const { id: project_id, company_id } = project;
  const public_id = newId();
  const secret = SECRET_PREFIX + randomBytes(32).toString('base64');
  const created_by_user_id = await answerableUser(tx, actor, company_id, 'admin');
  const fresh = {
    public_id,
    secret_sealed: vault.seal(secret, secretPlace(public_id)),
    created_by_user_id,
  };
  const [row] = await tx
    .insert(hooks)
    .values({ project_id, company_id, ...fresh })
    .onConflictDoUpdate({
      target: hooks.project_id,
      set: { ...fresh, last_event: null, received_at: null, created_at: sql`now()` },
    })
    .returning();
  await recordChanges(tx, actor, [changeOf(project, 'repository_webhook.created')]);
  return { ...present(row!), secret };
}

/** @throws notFound */
export async function deleteRepositoryWebhook(
  tx: Tx,
  actor: Actor,
  project: Pick<ProjectRow, 'id' | 'company_id' | 'name'>,
): Promise<void> {
  const [row] = await tx.delete(hooks).where(eq(hooks.project_id, project.id)).returning();
  if (row === undefined) throw notFound();
  await recordChanges(tx, actor, [changeOf(project, 'repository_webhook.deleted')]);
}

/** Deletes those of someone who may no longer create them, or hands them over. */
export async function settleRepositoryWebhooksOf(tx: Tx, leaving: Leaving): Promise<LeftCredential[]> {
  const theirs = rowsLostBy(leaving, hooks, 'admin');
  const left =
    leaving.heir === undefined
      ? await tx.delete(hooks).where(theirs).returning()
      : await tx.update(hooks).set({ created_by_user_id: leaving.heir }).where(theirs).returning();
  return left.map(({ project_id, company_id }) => ({
    kind: 'repository_webhook',
    id: project_id,
    company_id,
    label: 'repository webhook',
  }));
}

/** A verified event of a host. */
interface HostEvent {
  company_id: string;
  project_id: string;
  public_id: string;
  event: string;
  branches: string[];
}

/**
 * Called outside of a transaction, so unauthenticated requests lock nothing. @throws notFound for an unknown address, or one
 * whose project or company is in the trash; unauthenticated
 */
export async function verifyHostEvent(
  tx: Tx,
  public_id: string,
  request: HostRequest,
  vault: Vault,
): Promise<HostEvent> {
  const [row] = isUuid(public_id)
    ? await tx
        .select({
          ...getTableColumns(hooks),
          now_sec: sql`extract(epoch from clock_timestamp())`.mapWith((text) => Math.floor(Number(text))),
        })
        .from(hooks)
        .innerJoin(projects, and(eq(projects.id, hooks.project_id), isNull(projects.deleted_at)))
        .innerJoin(companies, ofLiveCompany(hooks.company_id))
        .where(eq(hooks.public_id, public_id))
    : [];
  if (row === undefined) throw notFound();
  verifyHost(vault.unseal(row.secret_sealed, secretPlace(public_id)), request, row.now_sec);
  const event = nameOfEvent(request);
  const { company_id, project_id } = row;
  return { company_id, project_id, public_id, event, branches: branchesOf(request.body) };
}

/**
 * Has the pull requests of its branches checked. Repeated events cause one check per interval: events that arrive before a
 * scheduled check are covered by it, later ones by the next. @returns whether it concerned any workspace
 */
export async function handleHostEvent(
  tx: Tx,
  { project_id, public_id, event, branches }: HostEvent,
): Promise<boolean> {
  await tx
    .update(hooks)
    .set({ last_event: event, received_at: sql`now()` })
    .where(
      sql`${hooks.public_id} = ${public_id} and (${hooks.received_at} is null
        or ${hooks.received_at} < now() - make_interval(secs => ${PAUSE_SEC}))`,
    );
  if (branches.length === 0) return false;
  const names = sql.join(
    branches.map((name) => sql`${name}`),
    sql`, `,
  );
  const { rows } = await tx.execute<{ id: string; due: boolean; later: Date | null }>(sql`
    with named as (
      select id, news_at from workspaces
      where project_id = ${project_id} and branch in (${names}) and pushed_commit is not null
      order by id limit 20 for update),
    noted as (
      update workspaces w
      set news_at = greatest(now(), n.news_at + make_interval(secs => ${PAUSE_SEC}))
      from named n where n.id = w.id and (n.news_at is null or n.news_at <= now())
      returning w.id, w.news_at)
    select n.id, noted.id is not null as due, case when noted.news_at > now() then noted.news_at end as later
    from named n left join noted on noted.id = n.id`);
  for (const { id, due, later } of rows) {
    const when = later === null ? {} : { start_after: new Date(later) };
    // A branch has one workspace, or a few after a change of the template.
    if (due) await enqueue(tx, 'look-at-pull-request', { workspace_id: id }, when);
  }
  return rows.length > 0;
}

function present({ project_id, public_id, last_event, received_at, created_at }: HookRow): RepositoryWebhook {
  return { project_id, public_id, last_event, received_at, created_at };
}

/** Contains neither address nor secret. */
const changeOf = (
  { id, company_id, name }: Pick<ProjectRow, 'id' | 'company_id' | 'name'>,
  action: string,
) => ({
  company_id,
  action,
  entity_type: 'project',
  entity_id: id,
  details: { name },
});
