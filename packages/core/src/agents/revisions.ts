/** History of an agent's configuration and prompt (specification, Configuration revision; decisions 3, Prompt versions). */
import type { Actor, Agent, ConfigurationRevision, PromptVersion } from '@acp/contract';
import {
  byCreation,
  newestFirst,
  type Page,
  type PageRequest,
  readWithinBytes,
  schema,
  type Tx,
} from '@acp/db';
import { decodeCursor, encodeCursor, notFound } from '@acp/kernel';
import { and, desc, eq, lt, sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { sameJson } from './policy.ts';
import { type AgentRow, presentAgent, summarizeAgent } from './present.ts';
import { lockToTeach } from './reach.ts';
import { trimmedConfigurations, trimmedPrompts } from './trim-history.ts';

const { agent_config_revisions: revisions, agents, prompt_versions: versions } = schema;

export interface Written {
  adapter_config: Record<string, unknown>;
  reason?: string | null | undefined;
}

/** The revision, as part of the statement that writes the agent. */
export function revisionOf(tx: Tx, actor: Actor, agent_id: string, { adapter_config, reason }: Written) {
  const { agent_id: by_agent, user_id: by_user } = actorColumns(actor);
  return tx.$with('revision').as(
    tx
      .insert(revisions)
      .values({ agent_id, config_json: adapter_config, reason, created_by: by_user ?? by_agent })
      .returning({ id: revisions.id }),
  );
}

/** The next prompt version, as part of the statement that writes the agent, whose row is locked. */
export function versionOf(tx: Tx, agent_id: string, version_number: number, system_prompt: string | null) {
  return tx.$with('version').as(
    tx
      .insert(versions)
      // No prompt is a version too, so that one can return to it.
      .values({ agent_id, version_number, system_prompt: system_prompt ?? '', source: 'manual' })
      .returning({ version_number: versions.version_number }),
  );
}

/** History entries of a change, as parts of the statement that writes the locked agent. */
export async function historyOf(
  tx: Tx,
  actor: Actor,
  before: AgentRow,
  input: { adapter_config?: Record<string, unknown>; system_prompt?: string | null },
  reason: string | null | undefined,
) {
  const { adapter_config, system_prompt } = input;
  const configured = adapter_config !== undefined && !sameJson(adapter_config, before.adapter_config);
  const prompted = system_prompt !== undefined && system_prompt !== before.system_prompt;
  const current = before.current_prompt_version_number;
  const version_number = prompted ? (await lastVersion(tx, before)) + 1 : current;
  return {
    version_number,
    written: [
      ...(configured
        ? [revisionOf(tx, actor, before.id, { adapter_config, reason }), trimmedConfigurations(tx, before.id)]
        : []),
      ...(prompted
        ? [versionOf(tx, before.id, version_number, system_prompt), trimmedPrompts(tx, before.id)]
        : []),
    ],
  };
}

/** The highest number so far; numbers are never reused. */
async function lastVersion(tx: Tx, agent: AgentRow): Promise<number> {
  const [last] = await tx
    .select({ number: versions.version_number })
    .from(versions)
    .where(eq(versions.agent_id, agent.id))
    .orderBy(desc(versions.version_number))
    .limit(1);
  return Math.max(last?.number ?? 0, agent.current_prompt_version_number);
}

export async function listConfigRevisions(
  tx: Tx,
  agent: { id: string },
  query: PageRequest,
): Promise<Page<ConfigurationRevision>> {
  const page = newestFirst(revisions.created_at, revisions.id, query, null);
  const rows = tx
    .select()
    .from(revisions)
    .where(and(eq(revisions.agent_id, agent.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, (row) => ({
    ...row,
    config_json: row.config_json as Record<string, unknown>,
  }));
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

export async function listPromptVersions(
  tx: Tx,
  agent: { id: string },
  { limit = DEFAULT_LIMIT, cursor }: PageRequest,
): Promise<Page<PromptVersion>> {
  const size = Math.min(limit, MAX_LIMIT);
  const [before] = cursor === undefined ? [] : decodeCursor(cursor, ['integer']);
  const listed = tx
    .select()
    .from(versions)
    .where(
      and(
        eq(versions.agent_id, agent.id),
        before === undefined ? undefined : lt(versions.version_number, Number(before)),
      ),
    )
    .orderBy(desc(versions.version_number))
    .limit(size + 1);
  const { rows, more } = await readWithinBytes(tx, listed);
  const items = rows.slice(0, size);
  return {
    items: items.map((row) => ({
      version_number: row.version_number,
      system_prompt: row.system_prompt,
      source: row.source as PromptVersion['source'],
      score: row.score,
      parent_version_number: row.parent_version_number,
      reason: row.reason,
      created_at: row.created_at,
    })),
    next_cursor: more || rows.length > size ? encodeCursor([items.at(-1)!.version_number]) : null,
  };
}

/** Adds a version that was not written by hand, without activating it. @returns its number */
export async function addEvolvedPrompt(
  tx: Tx,
  agent: AgentRow,
  version: Pick<typeof versions.$inferInsert, 'system_prompt' | 'score' | 'parent_version_number' | 'reason'>,
): Promise<number> {
  const version_number = (await lastVersion(tx, agent)) + 1;
  await tx
    .with(trimmedPrompts(tx, agent.id))
    .insert(versions)
    .values({ ...version, agent_id: agent.id, version_number, source: 'gepa' });
  return version_number;
}

/** Makes an earlier version the agent's prompt; creates no new version. @throws forbidden, notFound for an unknown number */
export async function activatePrompt(
  tx: Tx,
  actor: Actor,
  subject: { id: string },
  version_number: number,
): Promise<Agent> {
  const agent = await lockToTeach(tx, actor, subject);
  const [version] = await tx
    .select()
    .from(versions)
    .where(and(eq(versions.agent_id, agent.id), eq(versions.version_number, version_number)));
  if (!version) throw notFound();
  const [row] = await tx
    .update(agents)
    .set({
      system_prompt: version.system_prompt || null,
      current_prompt_version_number: version_number,
      updated_at: sql`now()`,
    })
    .where(eq(agents.id, agent.id))
    .returning();
  await recordChanges(tx, actor, [
    {
      company_id: agent.company_id,
      action: 'agent.prompt_activated',
      entity_type: 'agent',
      entity_id: agent.id,
      details: { version_number },
      event: { type: 'agent_updated', data: summarizeAgent(row!) },
    },
  ]);
  return presentAgent(row!);
}
