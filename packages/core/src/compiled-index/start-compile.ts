import { type Actor, adapterTraits, type CompileSettings } from '@acp/contract';
import { schema, storedNow, type Tx } from '@acp/db';
import { conflict, invalid, newId, notFound, said, type Said, stated } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { findAgent } from '../agents/index.ts';
import { admissionRefusal, readAgentFacts } from '../runs/index.ts';
import { flagEnabled } from '../settings/index.ts';
import { advanceLocked } from './advance-compile.ts';
import { compileProposal } from './compile-proposal.ts';
import { endCompile } from './end-compile.ts';
import { indexChange, type IndexRow, unread } from './read-index.ts';

const { compile_settings, compiled_batches, compiled_indexes } = schema;

// Limits of one compilation: the rest is read by the next one.
const SOURCES_OF_BATCH = 12;
const BATCHES = 8;

/** @throws notFound for an agent of another company, invalid for one that does not run a model */
export async function configureCompile(
  tx: Tx,
  actor: Actor,
  company_id: string,
  { agent_id, every_hours }: CompileSettings,
): Promise<void> {
  if (agent_id !== null) {
    const agent = await findAgent(tx, agent_id);
    const facts = agent?.company_id === company_id ? await readAgentFacts(tx, agent_id) : undefined;
    if (facts === undefined) throw notFound('there is no such agent');
    if (adapterTraits(facts.adapter_type).runs_as !== 'model')
      throw invalid(
        said`agents with the adapter ${facts.adapter_type} cannot be compiled: they do not use a model`,
      );
  }
  const next_at =
    agent_id === null || every_hours === null ? null : sql`now() + make_interval(hours => ${every_hours})`;
  const set = { agent_id, every_hours, next_at, updated_at: sql`now()` };
  await tx
    .insert(compile_settings)
    .values({ company_id, ...set })
    .onConflictDoUpdate({ target: compile_settings.company_id, set });
  await recordChanges(tx, actor, [
    {
      company_id,
      action: 'compiled_index.configured',
      entity_type: 'company',
      entity_id: company_id,
      details: { agent_id, every_hours },
    },
  ]);
}

/** Compiles what has changed. @throws conflict if there is nothing to do, or no agent to do it */
export async function compileIndex(tx: Tx, actor: Actor, company_id: string): Promise<void> {
  const [settings] = await tx
    .select()
    .from(compile_settings)
    .where(eq(compile_settings.company_id, company_id))
    .for('update');
  const refusal = await begin(tx, actor, company_id, settings?.agent_id ?? null);
  if (refusal !== null) throw conflict(refusal);
}

/** Starts the compilation due next; if it is refused, it is tried again next time. @returns whether one was due */
export async function compileNextDue(tx: Tx): Promise<boolean> {
  const { rows } = await tx.execute<{ company_id: string; agent_id: string | null }>(sql`
    update compile_settings set next_at = now() + make_interval(hours => coalesce(every_hours, 24))
    where company_id = (select s.company_id from compile_settings s join companies c on c.id = s.company_id and c.deleted_at is null
      where s.next_at <= ${storedNow} order by s.next_at limit 1 for update of s skip locked)
    returning company_id, agent_id`);
  const [due] = rows;
  if (due === undefined) return false;
  await begin(tx, systemActor('scheduler'), due.company_id, due.agent_id);
  return true;
}

/** Writes nothing if it refuses. @returns why it does; null if it has started */
async function begin(
  tx: Tx,
  actor: Actor,
  company_id: string,
  agent_id: string | null,
): Promise<string | Said | null> {
  if (!(await flagEnabled(tx, 'compiled_knowledge'))) return stated('the compiled index is switched off');
  const agent = agent_id === null ? undefined : await readAgentFacts(tx, agent_id);
  if (agent === undefined) return stated('name an agent first whose model compiles the index');
  const refusal = admissionRefusal(agent, compileProposal({ id: newId() }, agent, newId(), 0));
  if (refusal !== null) return refusal;
  const open = await tx
    .select()
    .from(compiled_indexes)
    .where(eq(compiled_indexes.company_id, company_id))
    .orderBy(sql`version desc`);
  if (open.some(({ status }) => status === 'compiling')) return stated('a compilation is already running');
  const base =
    open.find(({ status }) => status === 'draft') ?? open.find(({ status }) => status === 'promoted');
  const sources = await sourcesToRead(tx, company_id, base?.id ?? null);
  if (sources.length === 0 && !(await hasLost(tx, base?.id ?? null)))
    return stated('nothing has changed since the last compilation');
  const [index] = await tx
    .insert(compiled_indexes)
    .values({ company_id, agent_id: agent.id, version: (open[0]?.version ?? 0) + 1 })
    .onConflictDoNothing()
    .returning();
  if (index === undefined) return stated('a compilation is already running');
  if (base !== undefined) await carryOver(tx, base, index);
  const batches = Array.from({ length: Math.ceil(sources.length / SOURCES_OF_BATCH) }, (_, number) =>
    sources.slice(number * SOURCES_OF_BATCH, (number + 1) * SOURCES_OF_BATCH),
  );
  if (batches.length > 0)
    await tx.insert(compiled_batches).values(
      batches.map((batch, number) => ({
        index_id: index.id,
        number,
        source_keys: batch.map(({ id }) => id),
        revisions: batch.map(({ revision }) => revision),
      })),
    );
  await recordChanges(tx, actor, [await indexChange(tx, index, 'compiled_index.started')]);
  await advanceLocked(tx, index);
  return null;
}

interface Source extends Record<string, unknown> {
  id: string;
  revision: number;
}

/** Sources cited by outdated statements of the base, then unread ones, newest first. */
async function sourcesToRead(tx: Tx, company_id: string, base_id: string | null): Promise<Source[]> {
  const { rows } = await tx.execute<Source>(sql`
    select s.id, s.revision from knowledge_sources s
    left join (select distinct c.source_key from compiled_statements t
      join compiled_citations c on c.statement_id = t.id
      where t.index_id = ${base_id}::uuid and exists (
        select from compiled_citations o where o.statement_id = t.id and o.state <> 'current')) again on again.source_key = s.id
    where s.company_id = ${company_id} and ((${unread}) or (again.source_key is not null and s.chunked_revision = s.revision))
    order by again.source_key is null, s.changed_at desc, s.id limit ${BATCHES * SOURCES_OF_BATCH}`);
  return rows;
}

async function hasLost(tx: Tx, base_id: string | null): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select from compiled_statements t join compiled_citations c on c.statement_id = t.id
    where t.index_id = ${base_id}::uuid and c.state = 'gone' limit 1`);
  return rows.length > 0;
}

/** Copies statements whose sources are all unchanged. The others are compiled again from the current sources. */
async function carryOver(tx: Tx, base: IndexRow, index: IndexRow): Promise<void> {
  await tx.execute(sql`
    with kept as materialized (
      select gen_random_uuid() as new_id, t.* from compiled_statements t
      where t.index_id = ${base.id} and not exists (
        select from compiled_citations c where c.statement_id = t.id and c.state <> 'current')
    ), stated as (
      insert into compiled_statements (id, index_id, ordinal, topic, text)
      select new_id, ${index.id}, ordinal, topic, text from kept
    )
    insert into compiled_citations (statement_id, source_key, state)
    select kept.new_id, c.source_key, c.state from kept join compiled_citations c on c.statement_id = kept.id`);
}

/** @throws conflict if none is in progress */
export async function cancelCompile(tx: Tx, actor: Actor, company_id: string): Promise<void> {
  const [index] = await tx
    .select()
    .from(compiled_indexes)
    .where(and(eq(compiled_indexes.company_id, company_id), eq(compiled_indexes.status, 'compiling')))
    .for('no key update');
  if (index === undefined) throw conflict('no compilation is running');
  await endCompile(tx, actor, index, { status: 'cancelled', error: `cancelled by ${actor.name}` });
}
