import { commaList, type ListNotes, type Note, noteKinds } from '@acp/contract';
import { byCreation, newestFirst, type Page, readWithinBytes, schema, type Tx } from '@acp/db';
import { type CursorValue, decodeCursor, encodeCursor, isUuid, oneNamed } from '@acp/kernel';
import { and, eq, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import { ofLiveCompany } from '../companies/index.ts';
import { type NoteRow, presentNote, noteColumns } from './present.ts';

const { companies, notes } = schema;

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/** As for issues: PostgreSQL's default of 0.6 misses a transposition in a short word. */
const WORD_SIMILARITY_THRESHOLD = '0.45';

/** Loads a note for its scope; also undefined for trashed notes and those of trashed companies. */
export async function findNote(tx: Tx, id: string): Promise<NoteRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(noteColumns)
    .from(notes)
    .innerJoin(companies, ofLiveCompany(notes.company_id))
    .where(and(eq(notes.id, id), isNull(notes.deleted_at)));
  return row;
}

/**
 * Finds a note of the company by id or, ignoring case, by a unique title; archived ones too.
 * @throws notFound, conflict if several have the title
 */
export async function noteNamed(tx: Tx, company_id: string, word: string): Promise<NoteRow> {
  const named = isUuid(word) ? eq(notes.id, word) : sql`lower(${notes.title}) = lower(${word})`;
  const found = await tx
    .select(noteColumns)
    .from(notes)
    .where(and(eq(notes.company_id, company_id), isNull(notes.deleted_at), named))
    .limit(10);
  return oneNamed('note', word, found, ({ title }) => title);
}

/** A page of the company's notes, newest first; with `q`, best matches first. @throws invalid for an unknown kind */
export async function listNotes(tx: Tx, company_id: string, query: ListNotes): Promise<Page<Note>> {
  const kinds = commaList(query.kind, noteKinds, 'kind');
  const filters = and(
    eq(notes.company_id, company_id),
    isNull(notes.deleted_at),
    query.archived ? isNotNull(notes.archived_at) : isNull(notes.archived_at),
    kinds === undefined ? undefined : inArray(notes.kind, kinds),
  )!;
  const q = query.q?.trim() ?? '';
  if (q !== '') return bestFirst(tx, filters, q, query);
  const page = newestFirst(notes.created_at, notes.id, query, DEFAULT_LIMIT);
  const rows = tx
    .select(noteColumns)
    .from(notes)
    .where(and(filters, page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentNote);
}

/**
 * Splits the query into words as the database splits the text (`searchable_text`): only quotes, and `-` before a word, are
 * special.
 */
function searchableWords(q: string): string {
  return q.replaceAll(/[!#-,./:;<=>?@[\\\]^_`{|}~]/g, ' ').replaceAll(/(?<=[^\s"])-|-(?=[\s-]|$)/g, ' ');
}

interface Match extends Record<string, unknown> {
  id: string;
  score: number;
  created_at: Date;
}

async function bestFirst(tx: Tx, filters: SQL, q: string, query: ListNotes): Promise<Page<Note>> {
  const limit = Math.min(query.limit ?? DEFAULT_LIMIT, MAX_LIMIT);
  const after =
    query.cursor === undefined ? undefined : decodeCursor(query.cursor, ['integer', 'timestamp', 'uuid']);
  const { rows } = await tx.execute<Match>(search(filters, q, limit + 1, after));
  const found = rows.slice(0, limit);
  const ids = found.map(({ id }) => id);
  const listed = tx
    .select(noteColumns)
    .from(notes)
    .where(inArray(notes.id, ids))
    .orderBy(
      sql`array_position(array[${sql.join(
        ids.map((id) => sql`${id}::uuid`),
        sql`, `,
      )}], ${notes.id})`,
    );
  const texts = ids.length === 0 ? { rows: [], more: false } : await readWithinBytes(tx, listed);
  const reached = texts.more ? found.find(({ id }) => id === texts.rows.at(-1)?.id) : found.at(-1);
  const last = rows.length > limit || texts.more ? reached : undefined;
  return {
    items: texts.rows.map(presentNote),
    next_cursor: last ? encodeCursor([last.score, new Date(last.created_at).toISOString(), last.id]) : null,
  };
}

/**
 * Notes whose text contains all words of `q`, or whose title contains or resembles it; best first. The score is an integer, so
 * that it fits a cursor: 2000 if the title contains `q`, up to 1000 for the rank of the words in the text, up to 1000 for the
 * similarity of the best part of the title. The indexes `notes_text` and `notes_title` serve the matches.
 */
function search(filters: SQL, q: string, limit: number, after: readonly CursorValue[] | undefined): SQL {
  const text = sql`${notes}.words`;
  const words = sql`websearch_to_tsquery('simple', ${searchableWords(q)})`;
  const contains = sql`${notes.title} ilike ${`%${q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`}`;
  const page = after
    ? sql`where (score, created_at, id) < (${after[0]}::bigint, ${after[1]}::timestamptz, ${after[2]}::uuid)`
    : sql``;
  // The setting must be in effect before the index is read, so the same sub-query provides both.
  return sql`
    with asked as materialized (
      select ${q}::text as q, set_config('pg_trgm.word_similarity_threshold', ${WORD_SIMILARITY_THRESHOLD}, true)
    ),
    found as materialized (
      select ${notes.id} as id, ${notes.created_at} as created_at, (
        case when ${contains} then 2000 else 0 end
        + round((1000 * ts_rank(${text}, ${words}, 32) + 1000 * word_similarity(${q}, ${notes.title}))::numeric)
      )::int as score
      from ${notes}
      where ${filters} and (${text} @@ ${words} or ${notes.title} %> (select q from asked) or ${contains})
    )
    select id, score, created_at from found ${page} order by score desc, created_at desc, id desc limit ${limit}`;
}
