/** Splits changed sources into passages. */
import { schema, type Tx } from '@acp/db';
import { eq, type SQL, sql } from 'drizzle-orm';
import { type Chunk, chunkMarkdown } from './chunk-markdown.ts';
import { readSource, type SourceType } from './read-source.ts';

const { knowledge_chunks, knowledge_sources } = schema;

/** Maximum number of passages per company. Beyond it sources are only known by name, until others are removed. */
const MOST_OF_COMPANY = 250_000;

interface StaleSource extends Record<string, unknown> {
  id: string;
  company_id: string;
  source_type: SourceType;
  source_id: string;
  revision: number;
  /** Number of passages of its previous revision. */
  chunk_count: number;
}

/** Passages per company, cached and kept up to date by this process: counting takes longer than splitting. */
const counted = new Map<string, { passages: number; until: number }>();
const COUNTED_MS = 10_000;
const MOST_COUNTED = 1000;

/** The `cause` is the actual error. */
export class SourceNotCut extends Error {
  readonly source: StaleSource;

  constructor(source: StaleSource, cause: unknown) {
    super(`${source.source_type} ${source.source_id} could not be cut`, { cause });
    this.source = source;
  }
}

/**
 * Splits the next changed source: the one that has waited longest in the company whose turn it is. Its row is locked, so that a
 * change made in the meantime counts as a new one. One source per transaction.
 * @param after the company of the previous turn; null: there was none
 * @returns the company; undefined if nothing is waiting
 * @throws SourceNotCut: the transaction is void; the caller must give up the source, so that it doesn't block the others
 */
export async function indexNextSource(tx: Tx, after: string | null): Promise<string | undefined> {
  const source = await nextStale(tx, after);
  if (source === undefined) return undefined;
  try {
    await indexSource(tx, source);
  } catch (err) {
    throw new SourceNotCut(source, err);
  }
  return source.company_id;
}

/** Makes the source unfindable until it changes again. */
export async function giveUpSource(tx: Tx, { id, revision }: StaleSource): Promise<void> {
  await tx.delete(knowledge_chunks).where(eq(knowledge_chunks.source_key, id));
  await tx
    .update(knowledge_sources)
    .set({ chunked_revision: revision, chunk_count: 0, cut: true })
    .where(eq(knowledge_sources.id, id));
}

async function indexSource(tx: Tx, source: StaleSource): Promise<void> {
  const read = await readSource(tx, source.source_type, source.source_id);
  const { chunks, cut } = read === undefined ? nothing : chunkMarkdown(read.title, read.text);
  const kept = chunks.slice(0, await roomOf(tx, source, chunks.length));
  await replaceChunks(tx, source, kept);
  await tx
    .update(knowledge_sources)
    .set({
      chunked_revision: source.revision,
      chunk_count: kept.length,
      cut: cut || kept.length < chunks.length,
    })
    .where(eq(knowledge_sources.id, source.id));
  const known = counted.get(source.company_id);
  if (known !== undefined) known.passages += kept.length - source.chunk_count;
}

const nothing = { chunks: [] as Chunk[], cut: false };

async function nextStale(tx: Tx, after: string | null): Promise<StaleSource | undefined> {
  // Finds companies by skipping through the index, so none waits for another's backlog.
  const { rows } = await tx.execute<StaleSource>(sql`
    with recursive tenant as (
      (select company_id from knowledge_sources where chunked_revision <> revision order by company_id limit 1)
      union all
      select (select s.company_id from knowledge_sources s
        where s.chunked_revision <> s.revision and s.company_id > tenant.company_id order by s.company_id limit 1)
      from tenant where tenant.company_id is not null
    ), candidate as materialized (
      select next.id, next.changed_at, tenant.company_id, coalesce(tenant.company_id > ${after}::uuid, true) as in_turn
      from tenant cross join lateral (
        select s.id, s.changed_at from knowledge_sources s
        where s.company_id = tenant.company_id and s.chunked_revision <> s.revision
        order by s.changed_at, s.id limit 4
      ) next
    )
    select s.id, s.company_id, s.source_type, s.source_id, s.revision, s.chunk_count
    -- Few enough to be fetched by key instead of reading everything that waits; more than there are schedulers doing it.
    from (select * from candidate order by in_turn desc, company_id, changed_at, id limit 16) c
    join knowledge_sources s on s.id = c.id
    where s.chunked_revision <> s.revision
    order by c.in_turn desc, c.company_id, c.changed_at, c.id limit 1
    for update of s skip locked`);
  return rows[0];
}

/** The number of passages there is room for. Counts again if the cached number would leave too little. */
async function roomOf(tx: Tx, { company_id, chunk_count }: StaleSource, wanted: number): Promise<number> {
  const known = counted.get(company_id);
  if (known !== undefined && known.until > performance.now()) {
    const room = MOST_OF_COMPANY - known.passages + chunk_count;
    if (room >= wanted) return room;
  }
  const { rows } = await tx.execute<{ passages: number }>(sql`
    select coalesce(sum(chunk_count), 0)::int as passages from knowledge_sources where company_id = ${company_id}`);
  const { passages } = rows[0]!;
  if (counted.size >= MOST_COUNTED) counted.clear();
  counted.set(company_id, { passages, until: performance.now() + COUNTED_MS });
  return Math.max(0, MOST_OF_COMPANY - passages + chunk_count);
}

/** Unchanged passages keep their rows, and with them everything computed from them. */
async function replaceChunks(
  tx: Tx,
  { id, company_id }: StaleSource,
  chunks: readonly Chunk[],
): Promise<void> {
  const columns = { id: knowledge_chunks.id, heading: knowledge_chunks.heading, text: knowledge_chunks.text };
  const before = await tx.select(columns).from(knowledge_chunks).where(eq(knowledge_chunks.source_key, id));
  const known = Map.groupBy(before, keyOf);
  const moved: { id: string; ordinal: number }[] = [];
  const fresh: (typeof knowledge_chunks.$inferInsert)[] = [];
  for (const [ordinal, chunk] of chunks.entries()) {
    const same = known.get(keyOf(chunk))?.pop();
    if (same === undefined) fresh.push({ ...chunk, ordinal, company_id, source_key: id });
    else moved.push({ id: same.id, ordinal });
  }
  // Lock order: the company's embeddings before its passages, as where vectors are stored.
  if (fresh.length > 0)
    await tx.execute(sql`
      insert into knowledge_embeddings (company_id, wanted_at) values (${company_id}, now())
      on conflict (company_id) do update set wanted_at = now()`);
  const gone = [...known.values()].flat().map((chunk) => chunk.id);
  await tx.execute(
    sql`delete from knowledge_chunks where id in (select jsonb_array_elements_text(${JSON.stringify(gone)}::jsonb)::uuid)`,
  );
  await tx.execute(sql`
    update knowledge_chunks c set ordinal = m.ordinal
    from jsonb_to_recordset(${JSON.stringify(moved)}::jsonb) as m (id uuid, ordinal int)
    where c.id = m.id and c.ordinal <> m.ordinal`);
  if (fresh.length > 0) await tx.insert(knowledge_chunks).values(fresh);
}

function keyOf({ heading, text }: Chunk): string {
  return `${heading}\0${text}`;
}

/** SQL: whether the company has a promoted index, so that statements can skip reading it: most companies have none. */
export const hasIndex = (company_id: SQL): SQL =>
  sql`exists (select from compiled_indexes x where x.company_id = ${company_id} and x.status = 'promoted')`;

/** SQL: whether there is anything that a search could find, now or soon. @param company_id an id or a column */
export const hasKnowledge = (company_id: SQL): SQL =>
  sql`exists (select from knowledge_sources where company_id = ${company_id})`;

/** How much of the company's written knowledge is searchable. */
export interface KnowledgeState {
  sources: number;
  passages: number;
  /** Number of changed sources that are not split yet. */
  waiting: number;
  /** Number of sources that are only partly in passages. */
  cut: number;
  /** Why the last attempt to compute embeddings failed. */
  error: string | null;
}

export async function knowledgeState(tx: Tx, company_id: string): Promise<KnowledgeState> {
  const { rows } = await tx.execute<{ [K in keyof KnowledgeState]: KnowledgeState[K] }>(sql`
    select count(*)::int as sources, coalesce(sum(chunk_count), 0)::int as passages,
      (count(*) filter (where chunked_revision <> revision))::int as waiting, (count(*) filter (where cut))::int as cut,
      (select e.error from knowledge_embeddings e where e.company_id = ${company_id}) as error
    from knowledge_sources where company_id = ${company_id}`);
  return rows[0] ?? { sources: 0, passages: 0, waiting: 0, cut: 0, error: null };
}
