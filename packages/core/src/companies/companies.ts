import type { Actor, Company, UpdateCompany, UserActor } from '@acp/contract';
import {
  byCreation,
  containing,
  isUniqueViolation,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  signal,
  type Tx,
  WILDCARD,
} from '@acp/db';
import { conflict, decodeCursor, encodeCursor, invalid, isInsideFolder, notFound } from '@acp/kernel';
import { enqueue } from '@acp/queue';
import { and, asc, eq, inArray, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { getSetting } from '../settings/index.ts';
import { moveToTrash } from '../trash/index.ts';
import { revokeBoardUserKeys } from './board-user-keys.ts';
import { assertHomeDir, companyFolders, type HomeRules } from './home-dir.ts';

const { companies, memberships } = schema;

export type CompanyRow = typeof companies.$inferSelect;

const alive = isNull(companies.deleted_at);

export function presentCompany(company: CompanyRow): Company {
  return {
    id: company.id,
    name: company.name,
    slug: company.slug,
    home_dir: company.home_dir,
    agent_default_adapter_type: company.agent_default_adapter_type,
    agent_default_adapter_config: company.agent_default_adapter_config as Record<string, unknown>,
    agent_default_heartbeat_enabled: company.agent_default_heartbeat_enabled,
    agent_default_heartbeat_interval_sec: company.agent_default_heartbeat_interval_sec,
    default_worker_tags: company.default_worker_tags,
    require_second_factor: company.require_second_factor,
    created_at: company.created_at,
    updated_at: company.updated_at,
  };
}

/** Prefix of the company's issue identifiers: the first three letters or digits of the slug (decisions 7.38). */
export function identifierPrefix(slug: string): string {
  return slug.replaceAll('-', '').slice(0, 3).toUpperCase();
}

/** Creates a company; a user who creates one becomes its admin. @throws conflict if the slug is taken. */
export async function createCompany(
  tx: Tx,
  actor: Actor,
  input: { name: string; slug: string },
): Promise<Company> {
  const { name, slug } = input;
  // The instance's current default (decisions 7.7); from then on it is the company's own.
  const agent_default_adapter_type = await getSetting(tx, 'default_adapter_type');
  const identifier_prefix = identifierPrefix(slug);
  const values = { name, slug, identifier_prefix, agent_default_adapter_type };
  const company = await takingSlug(async () => (await tx.insert(companies).values(values).returning())[0]!);
  if (actor.kind === 'user') {
    await tx.insert(memberships).values({ company_id: company.id, user_id: actor.user_id, role: 'admin' });
    signal(tx, 'credentials', actor.user_id);
  }
  await recordChanges(tx, actor, [entry(company.id, 'company.created', { name, slug })]);
  return presentCompany(company);
}

/**
 * Changes a company; absent fields stay.
 * @param homes absent: no `home_dir` can be set here
 * @throws conflict if the slug is taken, invalid for a folder that is not the company's
 */
export async function updateCompany(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: UpdateCompany,
  homes?: HomeRules,
): Promise<Company> {
  const { name, slug, home_dir, default_worker_tags, require_second_factor } = input;
  // Folders are assigned to the company's current slug: a new one must not claim another company's.
  if (home_dir) await assertOwnHome(tx, company_id, home_dir, homes);
  const set = { name, slug, home_dir, default_worker_tags, require_second_factor };
  const company = await takingSlug(
    async () =>
      (
        await tx
          .update(companies)
          .set({ ...set, updated_at: sql`now()` })
          .where(and(eq(companies.id, company_id), alive))
          .returning()
      )[0],
  );
  if (!company) throw notFound();
  // Affects members and all instance admins: cached sessions are checked again.
  if (require_second_factor !== undefined) signal(tx, 'credentials', WILDCARD);
  await recordChanges(tx, actor, [entry(company_id, 'company.updated', set)]);
  return presentCompany(company);
}

async function assertOwnHome(
  tx: Tx,
  company_id: string,
  home_dir: string,
  homes: HomeRules | undefined,
): Promise<void> {
  const company = await findCompany(tx, company_id);
  if (!company) throw notFound();
  if (!homes) throw invalid('home_dir must be inside a folder of the company');
  await assertHomeDir(home_dir, company, homes);
  if (await isInsideFolder(home_dir, [companyFolders(homes.service_home, company.id).agents]))
    throw invalid('home_dir must not be inside the folder of the agents’ homes');
}

/**
 * Moves the company to the trash. Everything in it counts as absent from then on, including its members' roles; its keys are
 * revoked for good. A job ends running work and revokes agents' keys; so does a restore if it comes first.
 */
export async function deleteCompany(tx: Tx, actor: Actor, company_id: string): Promise<{ deleted: string }> {
  const [company] = await tx
    .update(companies)
    .set({ deleted_at: sql`now()` })
    .where(and(eq(companies.id, company_id), alive))
    .returning({ name: companies.name });
  if (!company) throw notFound();
  signal(tx, 'credentials', company_id);
  await revokeBoardUserKeys(tx, company_id);
  await moveToTrash(tx, actor, { type: 'company', entity_id: company_id, company_id, name: company.name });
  await enqueue(tx, 'settle-company', { company_id });
  await recordChanges(tx, actor, [entry(company_id, 'company.deleted', {})]);
  return { deleted: company_id };
}

/** Restores it from the trash. @throws conflict if its slug has been taken again */
export async function restoreCompany(tx: Tx, actor: Actor, company_id: string): Promise<void> {
  const set = { deleted_at: null, updated_at: sql`now()` };
  const company = await takingSlug(
    async () =>
      (
        await tx
          .update(companies)
          .set(set)
          .where(eq(companies.id, company_id))
          .returning({ id: companies.id })
      )[0],
  );
  if (!company) throw conflict('the company is gone');
  signal(tx, 'credentials', company_id);
  await recordChanges(tx, actor, [entry(company_id, 'company.restored', {})]);
}

/** Deletes the row itself: the last step of a purge, after everything in the company. */
export async function deleteCompanyRow(tx: Tx, company_id: string): Promise<void> {
  await tx.delete(companies).where(eq(companies.id, company_id));
}

/** Whether it is in the trash: checked by jobs that end what a deleted company left behind. Locks its row. */
export async function isCompanyTrashed(tx: Tx, company_id: string): Promise<boolean> {
  const [company] = await tx
    .select({ deleted_at: companies.deleted_at })
    .from(companies)
    .where(eq(companies.id, company_id))
    .for('no key update');
  return company !== undefined && company.deleted_at !== null;
}

export async function findCompany(tx: Tx, company_id: string): Promise<CompanyRow | undefined> {
  const [company] = await tx
    .select()
    .from(companies)
    .where(and(eq(companies.id, company_id), alive));
  return company;
}

/** The company as it is now, locked: before anything in it. @throws notFound */
export async function lockCompany(tx: Tx, company_id: string): Promise<CompanyRow> {
  const [company] = await tx
    .select()
    .from(companies)
    .where(and(eq(companies.id, company_id), alive))
    .for('no key update');
  if (!company) throw notFound();
  return company;
}

export async function findCompanyBySlug(tx: Tx, slug: string): Promise<CompanyRow | undefined> {
  const [company] = await tx
    .select()
    .from(companies)
    .where(and(eq(companies.slug, slug), alive));
  return company;
}

const named = (q: string | undefined) => containing(q, [companies.name, companies.slug]);

/** Companies by name; `null`: all. */
export async function listCompanies(tx: Tx, ids: readonly string[] | null): Promise<CompanyRow[]> {
  return tx
    .select()
    .from(companies)
    .where(and(ids === null ? undefined : inArray(companies.id, [...ids]), alive))
    .orderBy(asc(companies.name), asc(companies.id));
}

/** Condition: the user may see the company. */
const visibleTo = ({ instance_role, roles }: UserActor) =>
  instance_role === 'admin' ? undefined : inArray(companies.id, Object.keys(roles));

/** A page of the companies that the user may see, by name. @throws invalid for a bad cursor */
export async function companiesByName(
  tx: Tx,
  actor: UserActor,
  { q, cursor, limit }: SearchRequest & { limit: number },
): Promise<Page<Company>> {
  const [name, id] = cursor === undefined ? [] : decodeCursor(cursor, ['text', 'uuid']);
  const beyond =
    name === undefined ? undefined : sql`(${companies.name}, ${companies.id}) > (${name}, ${id}::uuid)`;
  const rows = await tx
    .select()
    .from(companies)
    .where(and(visibleTo(actor), alive, named(q), beyond))
    .orderBy(asc(companies.name), asc(companies.id))
    .limit(limit + 1);
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return {
    items: items.map(presentCompany),
    next_cursor: last === undefined ? null : encodeCursor([last.name, last.id]),
  };
}

/** The same, newest first; at most 1,000 or 4 MB unless a limit is given. */
export async function pageOfCompanies(
  tx: Tx,
  actor: UserActor,
  query: SearchRequest,
): Promise<Page<Company>> {
  const page = newestFirst(companies.created_at, companies.id, query, null);
  const rows = tx
    .select()
    .from(companies)
    .where(and(visibleTo(actor), alive, named(query.q), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentCompany);
}

function entry(company_id: string, action: string, details: Record<string, unknown>) {
  return { company_id, action, entity_type: 'company', entity_id: company_id, details };
}

async function takingSlug<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (err) {
    if (isUniqueViolation(err, 'companies_slug')) throw conflict('slug is already in use');
    throw err;
  }
}
