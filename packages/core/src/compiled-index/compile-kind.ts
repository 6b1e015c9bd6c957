import { adapterTraits, CompiledBatch, createValidator, MOST_STATEMENTS } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { cutText, newId, storableText, stated } from '@acp/kernel';
import { enqueue, enqueueMany } from '@acp/queue';
import { and, eq, inArray, sql } from 'drizzle-orm';
import {
  type Begun,
  eachAlone,
  type EndedRun,
  type KindChanges,
  readJsonAnswer,
  type RunKind,
  type RunRow,
} from '../runs/index.ts';
import { sourceLabel, statementLabel } from './compile-facts.ts';
import { COMPILE } from './compile-proposal.ts';
import { readStatements } from './read-index.ts';

const { compiled_batches, compiled_indexes, compiled_statements } = schema;
type BatchRow = typeof compiled_batches.$inferSelect;

// Limits in bytes.
const TOPIC = 80;
const TEXT = 400;
const ERROR = 1000;

const readAnswer = createValidator(CompiledBatch, 'answer');

/** One portion of a compilation: some sources are read, and their content is added to the index. */
export const compileKind: RunKind = {
  name: COMPILE,
  subject: { type: 'compiled_index', table: 'compiled_indexes' },
  liveKey: ({ subject_id }) => (subject_id === null ? null : `compile:${subject_id}`),
  audience: () => ({ topic: null, admins_only: true }),
  retries: true,
  begin: eachAlone(beginBatch),
  end: endBatch,
  cancelQueued: cancelBatches,
  retry: async (tx, { run }, admit) => {
    const again = await admit(null);
    if (again === undefined) return false;
    await tx.update(compiled_batches).set({ run_id: again.id }).where(asked(run.id));
    return true;
  },
};

const asked = (run_id: string) =>
  and(eq(compiled_batches.run_id, run_id), eq(compiled_batches.status, 'asked'));

async function beginBatch(tx: Tx, run: RunRow): Promise<Begun> {
  // The adapter may have changed since the admission, and a program would really act.
  if (adapterTraits(run.adapter_type).runs_as !== 'model') {
    const message = `adapter ${run.adapter_type} compiles nothing`;
    await failBatches(tx, [run.id], { error: message, error_category: 'config' });
    await enqueue(tx, 'advance-compile', { index_id: run.subject_id ?? '' });
    return { refused: { message, category: 'config' } };
  }
  const rows = await tx
    .select({ id: compiled_indexes.id })
    .from(compiled_batches)
    .innerJoin(compiled_indexes, eq(compiled_indexes.id, compiled_batches.index_id))
    .where(and(asked(run.id), eq(compiled_indexes.status, 'compiling')));
  return rows.length > 0
    ? { changes: [] }
    : { refused: { message: stated('the compilation is over'), category: 'conflict' } };
}

/** Stores the result. The compilation advances in a separate transaction. */
async function endBatch(tx: Tx, { run, subject, result, retried }: EndedRun): Promise<KindChanges> {
  if (subject === null || retried) return { changes: [] };
  const [batch] = await tx.select().from(compiled_batches).where(asked(run.id));
  if (batch === undefined) return { changes: [] };
  const answer = run.status === 'succeeded' ? readJsonAnswer(result.text, readAnswer)?.statements : undefined;
  if (answer === undefined) {
    const error = run.error ?? 'the model gave no readable answer';
    await failBatches(tx, [run.id], { error, error_category: run.error_category });
  } else {
    await keepStatements(tx, batch, answer);
    await tx
      .update(compiled_batches)
      .set({ status: 'done', error: null, error_category: null })
      .where(asked(run.id));
  }
  await enqueue(tx, 'advance-compile', { index_id: batch.index_id });
  return { changes: [] };
}

interface NewStatement {
  id: string;
  ordinal: number;
  topic: string;
  text: string;
  /** IDs in `knowledge_sources`. */
  source_keys: string[];
  /** Statements whose sources it takes over. */
  replaces: string[];
}

/**
 * Stores statements that cite a source of this portion; others were made up by the model and are dropped. Replaced statements
 * are deleted, but their sources are kept. The portion counts as read, whatever came of it.
 */
async function keepStatements(
  tx: Tx,
  { index_id, source_keys, revisions }: BatchRow,
  answer: CompiledBatch['statements'],
): Promise<void> {
  const known = (await readStatements(tx, [index_id])).get(index_id) ?? [];
  const byLabel = new Map(known.map(({ id }, at) => [statementLabel(at), id]));
  const last = await tx
    .select({ ordinal: sql<number>`coalesce(max(${compiled_statements.ordinal}), 0)::int` })
    .from(compiled_statements)
    .where(eq(compiled_statements.index_id, index_id));
  const replaced = new Set<string>();
  const added: NewStatement[] = [];
  for (const { topic, text, sources, replaces = [] } of answer) {
    const own = [
      ...new Set(sources.map((label) => source_keys.findIndex((_, at) => sourceLabel(at) === label))),
    ];
    const cited = own.flatMap((at) => (at === -1 ? [] : [source_keys[at]!]));
    if (cited.length === 0) continue;
    const gone = [...new Set(replaces)]
      .flatMap((label) => byLabel.get(label) ?? [])
      .filter((id) => !replaced.has(id));
    const room = MOST_STATEMENTS - (known.length - replaced.size + added.length);
    if (room + gone.length <= 0) continue;
    for (const id of gone) replaced.add(id);
    added.push({
      id: newId(),
      ordinal: (last[0]?.ordinal ?? 0) + added.length + 1,
      topic: oneLine(topic, TOPIC),
      text: oneLine(text, TEXT),
      source_keys: cited,
      replaces: gone,
    });
  }
  await store(tx, index_id, added, [...replaced]);
  await tx.execute(sql`
    insert into compiled_sources (source_key, revision, index_id)
    select s.id, read.revision, ${index_id} from unnest(
        array(select value::uuid from jsonb_array_elements_text(${JSON.stringify(source_keys)}::jsonb)),
        array(select value::int from jsonb_array_elements_text(${JSON.stringify(revisions)}::jsonb))) as read (id, revision)
    join knowledge_sources s on s.id = read.id
    on conflict (source_key) do update set revision = excluded.revision, index_id = excluded.index_id`);
}

const oneLine = (text: string, bytes: number): string =>
  cutText(storableText(text).replaceAll(/\s+/g, ' ').trim(), bytes);

/** A source may have changed or disappeared since the portion was planned: its citations reflect that from the beginning. */
async function store(
  tx: Tx,
  index_id: string,
  added: readonly NewStatement[],
  replaced: readonly string[],
): Promise<void> {
  await tx.execute(sql`
    with fresh as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(added)}::jsonb)
        as f (id uuid, ordinal int, topic text, text text, source_keys jsonb, replaces jsonb)
    ), stated as (
      insert into compiled_statements (id, index_id, ordinal, topic, text)
      select id, ${index_id}, ordinal, topic, text from fresh returning id
    ), planned as (
      select key, revision from compiled_batches b, unnest(b.source_keys, b.revisions) as p (key, revision)
      where b.index_id = ${index_id}
    ), cited as (
      select f.id as statement_id, k.value::uuid as source_key,
        case when s.id is null then 'gone' when s.revision = p.revision then 'current' else 'changed' end as state
      from fresh f cross join jsonb_array_elements_text(f.source_keys) k
      left join knowledge_sources s on s.id = k.value::uuid left join planned p on p.key = k.value::uuid
      union
      select f.id, c.source_key, c.state from fresh f cross join jsonb_array_elements_text(f.replaces) r
      join compiled_citations c on c.statement_id = r.value::uuid
    )
    insert into compiled_citations (statement_id, source_key, state)
    select statement_id, source_key, max(state) from cited group by statement_id, source_key`);
  if (replaced.length > 0)
    await tx.delete(compiled_statements).where(inArray(compiled_statements.id, [...replaced]));
}

async function failBatches(
  tx: Tx,
  run_ids: readonly string[],
  { error, error_category }: { error: string; error_category: string | null },
): Promise<void> {
  await tx
    .update(compiled_batches)
    .set({ status: 'failed', error: cutText(storableText(error), ERROR), error_category })
    .where(and(inArray(compiled_batches.run_id, [...run_ids]), eq(compiled_batches.status, 'asked')));
}

/** Handles runs cancelled before they started. */
async function cancelBatches(tx: Tx, runs: readonly RunRow[]): Promise<void> {
  const run_ids = runs.map(({ id }) => id);
  await failBatches(tx, run_ids, {
    error: runs[0]?.error ?? 'its run was cancelled',
    error_category: 'cancelled',
  });
  const indexes = await tx
    .selectDistinct({ index_id: compiled_batches.index_id })
    .from(compiled_batches)
    .where(inArray(compiled_batches.run_id, run_ids));
  await enqueueMany(tx, 'advance-compile', indexes);
}
