import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, cutText } from '@acp/kernel';
import { and, eq, inArray, notInArray, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { cancelRuns } from '../runs/index.ts';
import { COMPILE } from './compile-proposal.ts';
import { indexChange, type IndexRow } from './read-index.ts';

const { compile_settings, compiled_indexes, compiled_sources, compiled_statements } = schema;
const scheduler = systemActor('scheduler');

// Limit in bytes.
const ERROR = 2000;
const kept = ['compiling', 'draft', 'promoted'] as const;
/** Number of a company's finished versions that are kept; older ones are deleted. */
const KEPT = 10;

/** Ends a compilation that is complete or can't continue: what was read by then replaces the previous draft. */
export async function finishCompile(tx: Tx, index: IndexRow, error: string | null): Promise<void> {
  const { rows } = await tx.execute<{ done: boolean }>(sql`
    select (not exists (select from compiled_batches where index_id = ${index.id})
      or exists (select from compiled_batches where index_id = ${index.id} and status = 'done')) as done`);
  if (rows[0]?.done !== true) return endCompile(tx, scheduler, index, { status: 'failed', error });
  const [before] = await tx
    .update(compiled_indexes)
    .set({ status: 'superseded' })
    .where(and(eq(compiled_indexes.company_id, index.company_id), eq(compiled_indexes.status, 'draft')))
    .returning();
  if (before !== undefined)
    // Its statements were carried over: what was read for it counts as read for this one.
    await tx
      .update(compiled_sources)
      .set({ index_id: index.id })
      .where(eq(compiled_sources.index_id, before.id));
  return endCompile(tx, scheduler, index, { status: 'draft', error });
}

/** The only way a compilation ends; requires its row locked. Cancels a run in progress. */
export async function endCompile(
  tx: Tx,
  actor: Actor,
  { id, company_id }: IndexRow,
  { status, error }: { status: 'draft' | 'failed' | 'cancelled'; error: string | null },
): Promise<void> {
  const [row] = await tx
    .update(compiled_indexes)
    .set({
      status,
      error: error === null ? null : cutText(error, ERROR),
      waiting_reason: null,
      finished_at: sql`clock_timestamp()`,
    })
    .where(eq(compiled_indexes.id, id))
    .returning();
  if (status !== 'draft') await deleteReadSources(tx, id);
  const calledOff = await cancelRuns(
    tx,
    sql`r.subject_id = ${id} and r.kind = ${COMPILE}`,
    'the compilation is over',
  );
  await deleteOldVersions(tx, company_id);
  await recordChanges(tx, actor, [
    ...calledOff,
    await indexChange(tx, row!, `compiled_index.${status}`),
    ...(status === 'draft' ? [invitation(row!)] : []),
  ]);
}

const invitation = ({ company_id, id, version }: IndexRow) =>
  ({
    company_id,
    entity_type: 'compiled_index',
    entity_id: id,
    event: {
      type: 'notification',
      data: {
        topic: 'compiled_index',
        level: 'info',
        message: `Version ${version} of the compiled index waits to be promoted.`,
        entity_type: 'company',
        entity_id: company_id,
      },
    },
  }) as const;

/** What was read for a discarded version counts as unread. */
async function deleteReadSources(tx: Tx, index_id: string): Promise<void> {
  await tx.delete(compiled_sources).where(eq(compiled_sources.index_id, index_id));
}

/** Only outlines of finished versions are kept, for a while: the content they cite may have been deleted since. */
async function deleteOldVersions(tx: Tx, company_id: string): Promise<void> {
  await tx.delete(compiled_statements).where(
    inArray(
      compiled_statements.index_id,
      tx
        .select({ id: compiled_indexes.id })
        .from(compiled_indexes)
        .where(
          and(eq(compiled_indexes.company_id, company_id), notInArray(compiled_indexes.status, [...kept])),
        ),
    ),
  );
  await tx.execute(sql`
    delete from compiled_indexes where id in (
      select id from compiled_indexes where company_id = ${company_id} and status not in ('compiling', 'draft', 'promoted')
      order by version desc offset ${KEPT})`);
}

/** Makes the draft the version that agents read. @throws conflict if it is not the draft (any more) */
export async function promoteIndex(tx: Tx, actor: Actor, company_id: string, version: number): Promise<void> {
  const draft = await lockDraft(tx, company_id, version);
  await tx
    .update(compiled_indexes)
    .set({ status: 'superseded' })
    .where(and(eq(compiled_indexes.company_id, company_id), eq(compiled_indexes.status, 'promoted')));
  const [row] = await tx
    .update(compiled_indexes)
    .set({
      status: 'promoted',
      promoted_at: sql`clock_timestamp()`,
      promoted_by_user_id: actor.kind === 'user' ? actor.user_id : null,
    })
    .where(eq(compiled_indexes.id, draft.id))
    .returning();
  await deleteOldVersions(tx, company_id);
  await recordChanges(tx, actor, [await indexChange(tx, row!, 'compiled_index.promoted')]);
}

/** The next compilation reads its sources again. @throws conflict as above, and while a compilation based on it is in progress */
export async function discardIndex(tx: Tx, actor: Actor, company_id: string, version: number): Promise<void> {
  // As where a compilation begins: otherwise one could build on the draft while it is discarded.
  await tx.select().from(compile_settings).where(eq(compile_settings.company_id, company_id)).for('update');
  const draft = await lockDraft(tx, company_id, version);
  const open = await tx.$count(
    compiled_indexes,
    and(eq(compiled_indexes.company_id, company_id), eq(compiled_indexes.status, 'compiling')),
  );
  if (open > 0) throw conflict('a compilation is already running');
  const [row] = await tx
    .update(compiled_indexes)
    .set({ status: 'discarded' })
    .where(eq(compiled_indexes.id, draft.id))
    .returning();
  await deleteReadSources(tx, draft.id);
  await deleteOldVersions(tx, company_id);
  await recordChanges(tx, actor, [await indexChange(tx, row!, 'compiled_index.discarded')]);
}

async function lockDraft(tx: Tx, company_id: string, version: number): Promise<IndexRow> {
  const [draft] = await tx
    .select()
    .from(compiled_indexes)
    .where(
      and(
        eq(compiled_indexes.company_id, company_id),
        eq(compiled_indexes.version, version),
        eq(compiled_indexes.status, 'draft'),
      ),
    )
    .for('no key update');
  if (draft === undefined) throw conflict('that version is no longer a draft');
  return draft;
}
