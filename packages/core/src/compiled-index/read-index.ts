import {
  type Actor,
  type CompiledIndex,
  type CompiledIndexSummary,
  type CompiledIndexVersion,
  type CompiledStatement,
  type IndexStatus,
} from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { desc, eq, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { notTrashed } from '../issues/index.ts';
import { idsInTrash, shownColumns } from '../trash/index.ts';

const { compile_settings, compiled_indexes } = schema;

export type IndexRow = typeof compiled_indexes.$inferSelect;

const HISTORY = 10;

/** Without an agent that is in the trash. */
const shownSettings = shownColumns(compile_settings);

/** Everything about a company's index. Agents see what was promoted, and no draft. */
export async function readCompiledIndex(tx: Tx, actor: Actor, company_id: string): Promise<CompiledIndex> {
  const [settings] = await tx
    .select(shownSettings)
    .from(compile_settings)
    .where(eq(compile_settings.company_id, company_id));
  const rows = await tx
    .select()
    .from(compiled_indexes)
    .where(eq(compiled_indexes.company_id, company_id))
    .orderBy(desc(compiled_indexes.version))
    .limit(HISTORY + 3);
  const counts = await countsOf(tx, rows);
  const shown = rows
    .filter(({ status }) => status === 'promoted' || (actor.kind !== 'agent' && status === 'draft'))
    .map(({ id }) => id);
  const statements = await readStatements(tx, shown);
  const whole = (status: IndexStatus): CompiledIndexVersion | null => {
    const row = rows.find((each) => each.status === status && shown.includes(each.id));
    return row === undefined
      ? null
      : { ...summarizeIndex(row, counts), statements: statements.get(row.id) ?? [] };
  };
  const open = rows.find(({ status }) => status === 'compiling');
  return {
    settings: {
      agent_id: settings?.agent_id ?? null,
      every_hours: settings?.every_hours ?? null,
      next_at: settings?.next_at ?? null,
    },
    promoted: whole('promoted'),
    draft: whole('draft'),
    compiling: open === undefined ? null : summarizeIndex(open, counts),
    history: rows.slice(0, HISTORY).map((row) => summarizeIndex(row, counts)),
    unread_sources: await countUnread(tx, company_id),
  };
}

type Counts = ReadonlyMap<string, { batches: number; batches_done: number; statement_count: number }>;

async function countsOf(tx: Tx, rows: readonly { id: string }[]): Promise<Counts> {
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const { rows: counted } = await tx.execute<{
    id: string;
    batches: number;
    batches_done: number;
    statement_count: number;
  }>(sql`
    select i.value as id,
      (select count(*)::int from compiled_batches b where b.index_id = i.value::uuid) as batches,
      (select count(*)::int from compiled_batches b where b.index_id = i.value::uuid and b.status = 'done') as batches_done,
      (select count(*)::int from compiled_statements s where s.index_id = i.value::uuid) as statement_count
    from jsonb_array_elements_text(${ids}::jsonb) i`);
  return new Map(counted.map(({ id, ...counts }) => [id, counts]));
}

function summarizeIndex(row: IndexRow, counts: Counts): CompiledIndexSummary {
  const none = { batches: 0, batches_done: 0, statement_count: 0 };
  return { ...row, status: row.status as IndexStatus, ...(counts.get(row.id) ?? none) };
}

/** Name and location of a source; `s` is the row of `knowledge_sources`. */
const title = sql`case s.source_type
  when 'note' then (select n.title from notes n where n.id = s.source_id)
  when 'document' then (select d.title from documents d where d.id = s.source_id)
  when 'attachment' then (select f.filename from attachments f where f.id = s.source_id)
  when 'issue' then (select x.identifier || ': ' || x.title from issues x where x.id = s.source_id) end`;
const url = sql`case when s.source_type = 'document' then '/issues/' || s.issue_id || '/documents/'
    || (select d.key from documents d where d.id = s.source_id)
  when s.source_type = 'attachment' then '/issues/' || s.issue_id || '/material'
  when s.issue_id is not null then '/issues/' || s.issue_id else '/notes/' || s.source_id end`;
/** Triggers ignore the trash: sources below an issue in the trash must be treated as gone here. */
const state = sql`case when s.id is null or (s.issue_id is not null and not exists (
    select from issues i where i.id = s.issue_id and ${notTrashed('i')})) then 'gone' else c.state end`;

/** Keyed by index, ordered by the first appearance of topics. */
export async function readStatements(
  tx: Tx,
  index_ids: readonly string[],
): Promise<Map<string, CompiledStatement[]>> {
  if (index_ids.length === 0) return new Map();
  const { rows } = await tx.execute<CompiledStatement & { index_id: string }>(sql`
    select t.index_id, t.id, t.topic, t.text, coalesce(cited.sources, '[]') as sources
    from compiled_statements t left join lateral (
      select jsonb_agg(case state when 'gone'
          then jsonb_build_object('source_type', null, 'source_id', null, 'title', null, 'url', null, 'state', state)
          else jsonb_build_object('source_type', source_type, 'source_id', source_id, 'title', title, 'url', url, 'state', state)
        end order by source_key) as sources
      from (select c.source_key, s.source_type, s.source_id, ${title} as title, ${url} as url, ${state} as state
        from compiled_citations c left join knowledge_sources s on s.id = c.source_key
        where c.statement_id = t.id) source
    ) cited on true
    where t.index_id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(index_ids)}::jsonb))
    order by t.index_id, min(t.ordinal) over (partition by t.index_id, lower(t.topic)), t.ordinal, t.id`);
  const statements = Map.groupBy(rows, ({ index_id }) => index_id);
  return new Map([...statements].map(([index_id, own]) => [index_id, own.map(masked)]));
}

/** Hides a statement with a deleted source, even if it has others: its text may reveal what the source said. */
function masked({ id, topic, text, sources }: CompiledStatement): CompiledStatement {
  const gone = sources.some(({ state: now }) => now === 'gone');
  return { id, topic, text: gone ? '(Its source is gone.)' : text, sources };
}

const isUnread = sql`s.chunked_revision = s.revision and s.chunk_count > 0
  and not exists (select from compiled_sources x where x.source_key = s.id and x.revision = s.revision)`;

/** Sources whose current revision has not been read for any version; `s` is the row of `knowledge_sources`. */
export const unread = sql`${isUnread}
  and (s.issue_id is null or exists (select from issues i where i.id = s.issue_id and ${notTrashed('i')}))`;

async function countUnread(tx: Tx, company_id: string): Promise<number> {
  const { rows } = await tx.execute<{ count: number }>(
    sql`select count(*)::int as count from knowledge_sources s where s.company_id = ${company_id} and ${isUnread}
      and not exists (select from (${idsInTrash('issues', company_id)}) gone where gone.id = s.issue_id)`,
  );
  return rows[0]?.count ?? 0;
}

/** Whether the company knows anything that an index could be made of. */
export async function knowsAnything(tx: Tx, company_id: string): Promise<boolean> {
  const { rows } = await tx.execute(
    sql`select from knowledge_sources s where s.company_id = ${company_id} and s.chunk_count > 0
      and not exists (select from (${idsInTrash('issues', company_id)}) gone where gone.id = s.issue_id) limit 1`,
  );
  return rows.length > 0;
}

export async function indexChange(tx: Tx, row: IndexRow, action?: string): Promise<Change> {
  const { company_id, id: entity_id, version, status } = row;
  return {
    company_id,
    entity_type: 'compiled_index',
    entity_id,
    ...(action === undefined ? {} : { action, details: { version, status } }),
    event: { type: 'compiled_index_updated', data: summarizeIndex(row, await countsOf(tx, [row])) },
  };
}
