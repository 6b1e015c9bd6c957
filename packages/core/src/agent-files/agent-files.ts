import { type Actor, type AgentFile, type FsSkill, requirePermission } from '@acp/contract';
import { type Page, type PageRequest, readWithinBytes, schema, type Tx } from '@acp/db';
import { conflict, decodeCursor, encodeCursor, notFound, said, saidText, stated } from '@acp/kernel';
import { and, asc, eq, getTableColumns, gt, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { type AgentRow, lockAgent, lockToTeach } from '../agents/index.ts';
import { keepStorageKeys, type StoredFile } from '../attachments/index.ts';
import { parseSkillMarkdown } from '../skills/index.ts';
import { checkFilePath } from './paths.ts';

const { agent_files } = schema;

export type AgentFileRow = typeof agent_files.$inferSelect;
type Kind = 'file' | 'skill';

const MOST: Record<Kind, number> = { file: 1000, skill: 100 };

const plurals: Record<Kind, string> = { file: stated('files'), skill: stated('skills') };

export async function listAgentFiles(
  tx: Tx,
  agent: { id: string },
  query: PageRequest,
): Promise<Page<AgentFile>> {
  return listOf(tx, agent, 'file', query, presentFile);
}

export async function listFsSkills(
  tx: Tx,
  agent: { id: string },
  query: PageRequest,
): Promise<Page<FsSkill>> {
  return listOf(tx, agent, 'skill', query, presentSkill);
}

/** @throws invalid for a forbidden path, notFound if there is no such file */
export async function findAgentFile(tx: Tx, agent: { id: string }, path: string): Promise<AgentFileRow> {
  return findOf(tx, agent, 'file', checkFilePath(path));
}

/** @throws notFound */
export async function findFsSkill(tx: Tx, agent: { id: string }, slug: string): Promise<FsSkill> {
  return presentSkill(await findOf(tx, agent, 'skill', slug));
}

/**
 * Writes the row of a file already in storage; a file at the same path is replaced and its bytes become orphans.
 * @param stored the path, which is checked here, and the key of its bytes, which the row then keeps
 * @throws invalid for a forbidden path; conflict for too many files, and for a path that is a folder's or leads through a file;
 * forbidden for an agent with `secrets.use`, unless it writes itself or an admin does; unavailable if the upload took too long
 */
export async function putAgentFile(
  tx: Tx,
  actor: Actor,
  agent: AgentRow,
  path: string,
  stored: StoredFile,
): Promise<AgentFile> {
  return presentFile(
    await put(tx, actor, agent, { kind: 'file', path: checkFilePath(path), content: null }, stored),
  );
}

/**
 * Writes the row of a SKILL.md already in storage. The row contains its text as well, since prompts are built from it.
 * @param options `fresh`: the slug must not be taken
 * @throws invalid for a malformed SKILL.md, conflict for a taken slug
 */
export async function putFsSkill(
  tx: Tx,
  actor: Actor,
  agent: AgentRow,
  { slug, content }: { slug: string; content: string },
  stored: StoredFile,
  options: { fresh: boolean },
): Promise<FsSkill> {
  parseSkillMarkdown(content);
  const row = await put(tx, actor, agent, { kind: 'skill', path: slug, content }, stored, options.fresh);
  return presentSkill(row);
}

/** @returns the key whose bytes are to be deleted by the caller or the sweep @throws notFound */
export async function deleteAgentFile(tx: Tx, actor: Actor, agent: AgentRow, path: string): Promise<string> {
  return drop(tx, actor, agent, 'file', checkFilePath(path));
}

export async function deleteFsSkill(tx: Tx, actor: Actor, agent: AgentRow, slug: string): Promise<string> {
  return drop(tx, actor, agent, 'skill', slug);
}

/**
 * Everything that is written to the agent's home before a program runs there, and whether another run of the agent is using
 * the home.
 */
export async function filesForHome(
  tx: Tx,
  run: { agent_id: string; run_id: string },
): Promise<{ files: AgentFileRow[]; alone: boolean }> {
  const files = await tx
    .select()
    .from(agent_files)
    .where(eq(agent_files.agent_id, run.agent_id))
    .orderBy(agent_files.path);
  const { rows } = await tx.execute<{ others: boolean }>(sql`
    select exists (select from heartbeat_runs r
      where r.agent_id = ${run.agent_id} and r.status = 'running' and r.id <> ${run.run_id}::uuid) as others`);
  return { files, alone: rows[0]?.others !== true };
}

async function listOf<T>(
  tx: Tx,
  agent: { id: string },
  kind: Kind,
  { limit, cursor }: PageRequest,
  present: (row: AgentFileRow) => T,
): Promise<Page<T>> {
  // There are never more than that.
  const size = limit === undefined ? MOST[kind] : Math.min(limit, 200);
  const [after] = cursor === undefined ? [] : decodeCursor(cursor, ['text']);
  const listed = tx
    .select()
    .from(agent_files)
    .where(
      and(
        eq(agent_files.agent_id, agent.id),
        eq(agent_files.kind, kind),
        after === undefined ? undefined : gt(agent_files.path, String(after)),
      ),
    )
    .orderBy(asc(agent_files.path))
    .limit(size + 1);
  const { rows, more } = await readWithinBytes(tx, listed);
  const items = rows.slice(0, size);
  return {
    items: items.map(present),
    next_cursor: more || rows.length > size ? encodeCursor([items.at(-1)!.path]) : null,
  };
}

async function findOf(tx: Tx, agent: { id: string }, kind: Kind, path: string): Promise<AgentFileRow> {
  const [row] = await tx
    .select(getTableColumns(agent_files))
    .from(agent_files)
    .where(and(eq(agent_files.agent_id, agent.id), eq(agent_files.kind, kind), eq(agent_files.path, path)));
  if (!row) throw notFound();
  return row;
}

async function put(
  tx: Tx,
  actor: Actor,
  subject: AgentRow,
  what: { kind: Kind; path: string; content: string | null },
  { storage_key, size_bytes, sha256 }: StoredFile,
  fresh = false,
): Promise<AgentFileRow> {
  // Serialises an agent's writes, so that files can be counted and replaced reliably.
  const agent = await lockToWrite(tx, actor, subject, what.kind);
  await keepStorageKeys(tx, [storage_key]);
  const { taken, blocked, count } = await readNeighbours(tx, agent, what);
  if (blocked !== null) throw conflict(said`${blocked} is a file: a path cannot be both a file and a folder`);
  if (taken && fresh) throw conflict('a skill already has this slug');
  if (!taken && count >= MOST[what.kind])
    throw conflict(said`an agent has no more than ${MOST[what.kind]} ${saidText(plurals[what.kind])}`);
  // Deleted rather than updated: the trigger then records the former bytes' key.
  if (taken) {
    const { kind, path } = what;
    await tx
      .delete(agent_files)
      .where(and(eq(agent_files.agent_id, agent.id), eq(agent_files.kind, kind), eq(agent_files.path, path)));
  }
  const { company_id, id: agent_id } = agent;
  const [row] = await tx
    .insert(agent_files)
    .values({ company_id, agent_id, ...what, size_bytes, sha256, storage_key })
    .returning();
  await recordChanges(tx, actor, [changeOf(row!, 'written')]);
  return row!;
}

interface Neighbours {
  taken: boolean;
  /** An existing file that conflicts with the path: it would have to be a folder, or contain this file. */
  blocked: string | null;
  count: number;
}

async function readNeighbours(
  tx: Tx,
  agent: AgentRow,
  what: { kind: Kind; path: string },
): Promise<Neighbours> {
  const { kind, path } = what;
  const { rows } = await tx.execute<{ [K in keyof Neighbours]: Neighbours[K] }>(sql`
    select coalesce(bool_or(path = ${path}), false) as taken, count(*)::int as count,
      min(path) filter (where starts_with(path, ${path} || '/') or starts_with(${path}, path || '/')) as blocked
    from agent_files where agent_id = ${agent.id} and kind = ${kind}`);
  return rows[0]!;
}

/**
 * An agent's files are also written by its own programs. A skill of its own is a file and a skill: it takes both permissions.
 * @returns the agent as it is now, locked
 */
async function lockToWrite(tx: Tx, actor: Actor, { id }: AgentRow, kind: Kind): Promise<AgentRow> {
  requirePermission(actor, 'files.write');
  if (kind === 'skill') requirePermission(actor, 'skills.manage');
  const itself = actor.kind === 'agent' && actor.agent_id === id;
  return kind === 'skill' || !itself ? lockToTeach(tx, actor, { id }) : lockAgent(tx, id);
}

async function drop(tx: Tx, actor: Actor, subject: AgentRow, kind: Kind, path: string): Promise<string> {
  const agent = await lockToWrite(tx, actor, subject, kind);
  const [row] = await tx
    .delete(agent_files)
    .where(and(eq(agent_files.agent_id, agent.id), eq(agent_files.kind, kind), eq(agent_files.path, path)))
    .returning();
  if (!row) throw notFound();
  await recordChanges(tx, actor, [changeOf(row, 'deleted')]);
  return row.storage_key;
}

function presentFile({ path, size_bytes, updated_at }: AgentFileRow): AgentFile {
  return { path, size_bytes, updated_at };
}

function presentSkill({ path, content, updated_at }: AgentFileRow): FsSkill {
  const { name, description } = parseSkillMarkdown(content ?? '');
  return { slug: path, name, description, content: content ?? '', updated_at };
}

function changeOf({ company_id, agent_id, kind, path, size_bytes }: AgentFileRow, act: string): Change {
  return {
    company_id,
    action: `agent.${kind}_${act}`,
    entity_type: 'agent',
    entity_id: agent_id,
    details: { path, size_bytes },
  };
}
