import { type KnowledgePassage, knowledgeTypes } from '@acp/contract';
import type { Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { notTrashed } from '../issues/index.ts';
import { byMeaning, type QuestionVector } from './vectors.ts';
import { termsOf, waysIn, type WeighedTerm } from './query-terms.ts';
import { unseen, weighTerms } from './weigh-terms.ts';

export interface KnowledgeQuery {
  question: string;
  limit?: number | undefined;
  /** Excludes this issue as a source: the caller already has it in view. */
  except_issue_id?: string | null;
  /** The only kinds of sources to return; null: all. */
  only_types?: readonly string[] | null;
  /** The question's vector; without it passages are found by full-text search alone. */
  vector?: QuestionVector | null;
}

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 50;

// In passages.
/** Maximum that full-text search ranks, among those that contain one of the significant words. */
const RANKED = 1000;
const OF_TEXT = 60;
const OF_HEADINGS = 20;
/** Prevents one source from filling the results. */
const OF_ONE_SOURCE = 3;
/** Prevents one source from filling the ranking by words. Greater, because other rankings may prefer other passages of it. */
const OF_ONE_SOURCE_RANKED = 6;

/** Minimum share of the total weight of the question's words that a passage must match. */
const LEAST_SHARE = 0.15;
/** In characters: longer questions resemble no heading. */
const LONGEST_LIKE_HEADING = 120;
const WORD_SIMILARITY_THRESHOLD = '0.45';

/** Reciprocal rank fusion constant: how much less a second place counts than a first. */
const RRF = 60;

const mostRanked = sql.raw(String(RANKED));

/** Ids of passages, best first. */
type Ranking = readonly string[];

/**
 * Passages that match the question, best first: by full-text search with rarer words weighing more, by similar headings and by
 * meaning; the rankings are merged. Excludes what is in the trash or has changed since it was split. The text was written by
 * others: in a prompt it is data.
 */
export async function searchKnowledge(
  tx: Tx,
  company_id: string,
  query: KnowledgeQuery,
): Promise<KnowledgePassage[]> {
  const question = query.question.trim();
  const asked = termsOf(question);
  if (asked.length === 0) return [];
  const { terms, passages: known } = await weighTerms(tx, company_id, asked);
  if (known === 0) return [];
  const wanted = query.only_types ? ofWantedType(query.only_types) : null;
  const rankings = [
    await byWords(tx, company_id, terms, wanted ?? sql`true`),
    await byHeading(tx, company_id, question, wanted ?? sql`true`),
    ...(query.vector ? [await byMeaning(tx, company_id, query.vector, known, vectorsOf(wanted))] : []),
  ];
  const merged = mergeRankings(rankings);
  if (merged.size === 0) return [];
  const passages = await readPassages(tx, company_id, [...merged.keys()], query);
  const most = Math.min(query.limit ?? DEFAULT_LIMIT, MAX_LIMIT);
  return bestOf(passages, merged, most);
}

/** In characters of text, about 2,000 tokens. */
const RECALLED = 8000;
const RECALLED_PASSAGES = 8;

/** Knowledge for a prompt: the best passages, as many as fit into its budget. */
export async function recallKnowledge(
  tx: Tx,
  company_id: string,
  query: Omit<KnowledgeQuery, 'limit'>,
): Promise<KnowledgePassage[]> {
  const found = await searchKnowledge(tx, company_id, { ...query, limit: RECALLED_PASSAGES });
  let room = RECALLED;
  return found.filter(({ text }) => {
    room -= text.length;
    return room >= 0;
  });
}

/** Scores by id, best first; 1 means first place in every ranking. */
function mergeRankings(rankings: readonly Ranking[]): Map<string, number> {
  const scores = new Map<string, number>();
  for (const ranking of rankings)
    for (const [place, id] of ranking.entries())
      scores.set(id, (scores.get(id) ?? 0) + (RRF + 1) / (RRF + 1 + place) / rankings.length);
  return new Map([...scores].toSorted((a, b) => b[1] - a[1]));
}

async function byWords(
  tx: Tx,
  company_id: string,
  terms: readonly WeighedTerm[],
  wanted: SQL,
): Promise<Ranking> {
  const ranking = new Set<string>();
  // Usually one query, three at most: the less selective ones only run if the others have found too little.
  for (const way of waysIn(terms, RANKED)) {
    for (const id of await rankOneWay(tx, company_id, terms, way, wanted)) ranking.add(id);
    if (ranking.size >= OF_TEXT) break;
  }
  return [...ranking].slice(0, OF_TEXT);
}

/**
 * @param way full-text query that selects the passages to rank
 * @param wanted which of them, as by `ofWantedType`
 */
async function rankOneWay(
  tx: Tx,
  company_id: string,
  terms: readonly WeighedTerm[],
  way: string,
  wanted: SQL,
): Promise<Ranking> {
  const least = LEAST_SHARE * terms.reduce((sum, { weight }) => sum + weight, 0);
  const { rows } = await tx.execute<{ id: string }>(sql`
    with term as materialized (
      select to_tsquery('simple', t.term) as query, t.weight
      from jsonb_to_recordset(${JSON.stringify(terms)}::jsonb) as t (term text, weight float8)
    ), hit as materialized (
      -- Copied: a toasted value would otherwise be fetched once per term.
      select id, source_key, words || ''::tsvector as words from knowledge_chunks k
      where company_id = ${unseen(company_id)} and words @@ (select to_tsquery('simple', ${way})) and ${wanted} limit ${mostRanked}
    ), scored as (
      select hit.id, hit.source_key, sum(term.weight) as matched, sum(term.weight * ts_rank(hit.words, term.query, 1)) as density
      from hit join term on hit.words @@ term.query group by hit.id, hit.source_key
    )
    select id from (
      select id, matched + density as score, row_number() over (partition by source_key order by matched + density desc, id) as place
      from scored where matched >= ${least}
    ) ranked where place <= ${OF_ONE_SOURCE_RANKED} order by score desc, id limit ${OF_TEXT}`);
  return rows.map(({ id }) => id);
}

/** The first passage under each heading that resembles the question, one per source. */
async function byHeading(tx: Tx, company_id: string, question: string, wanted: SQL): Promise<Ranking> {
  if (question.length > LONGEST_LIKE_HEADING) return [];
  // The setting takes effect before the index is read, because the same sub-query supplies the value to search for.
  const { rows } = await tx.execute<{ id: string }>(sql`
    with asked as materialized (
      select ${question}::text as q, set_config('pg_trgm.word_similarity_threshold', ${WORD_SIMILARITY_THRESHOLD}, true)
    ), hit as materialized (
      select id, source_key, ordinal, heading from knowledge_chunks k
      where company_id = ${unseen(company_id)} and heading %> (select q from asked) and ${wanted} limit ${mostRanked}
    ), best as (
      select distinct on (source_key) id, word_similarity(${question}, heading) as likeness
      from hit order by source_key, word_similarity(${question}, heading) desc, ordinal
    )
    select id from best order by likeness desc, id limit ${OF_HEADINGS}`);
  return rows.map(({ id }) => id);
}

interface StoredPassage extends Omit<KnowledgePassage, 'score' | 'url'>, Record<string, unknown> {
  id: string;
  issue_id: string | null;
  document_key: string | null;
  /** The agent that owns the file. */
  agent_id: string | null;
}

const [, finding] = knowledgeTypes;

/** Type of the source in the row `s`, whose note, if it is one, is in the row `n`. */
const typeOfSource: SQL = sql`case when n.kind = ${finding} then ${finding} else s.source_type end`;

/** Whether the passage in the row `k` is of one of these types. Reads its source by key: never all of the company. */
function ofWantedType(types: readonly string[]): SQL {
  return sql`(
    select ${typeOfSource} from knowledge_sources s left join notes n on s.source_type = 'note' and n.id = s.source_id
    where s.id = k.source_key) in (select jsonb_array_elements_text(${JSON.stringify(types)}::jsonb))`;
}

/** Whether the vector in the row `v` is of such a passage. */
const vectorsOf = (wanted: SQL | null): SQL =>
  wanted === null
    ? sql`true`
    : sql`exists (select from knowledge_chunks k where k.id = v.chunk_id and ${wanted})`;

/** Whether the source of the row `s` is visible: checks what triggers can't track, such as a parent in the trash. */
const visible: SQL = sql`s.chunked_revision = s.revision and (s.issue_id is null or exists (
  select from issues i where i.id = s.issue_id and ${notTrashed('i')}))`;

async function readPassages(
  tx: Tx,
  company_id: string,
  ids: readonly string[],
  { except_issue_id = null, only_types = null }: Pick<KnowledgeQuery, 'except_issue_id' | 'only_types'>,
): Promise<StoredPassage[]> {
  const { rows } = await tx.execute<StoredPassage>(sql`
    select found.id, ${typeOfSource} as source_type, s.source_id,
      s.heading as title, s.text, s.issue_id, d.key as document_key, f.agent_id
    from jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb) with ordinality as found (id, place)
    -- One at a time, by key: never all passages of the company.
    cross join lateral (
      select s.*, k.heading, k.text from knowledge_chunks k join knowledge_sources s on s.id = k.source_key
      where k.id = found.id::uuid offset 0
    ) s
    left join notes n on s.source_type = 'note' and n.id = s.source_id
    left join documents d on s.source_type = 'document' and d.id = s.source_id
    left join agent_files f on s.source_type = 'agent_file' and f.id = s.source_id
    where s.company_id = ${company_id} and ${visible}
      and (s.source_type <> 'issue' or s.source_id is distinct from ${except_issue_id}::uuid)
      and (${only_types === null} or ${typeOfSource}
        in (select jsonb_array_elements_text(${JSON.stringify(only_types ?? [])}::jsonb)))
    order by found.place`);
  return rows;
}

/** @param passages best first */
function bestOf(
  passages: readonly StoredPassage[],
  scores: ReadonlyMap<string, number>,
  most: number,
): KnowledgePassage[] {
  const taken = new Map<string, number>();
  const best: KnowledgePassage[] = [];
  for (const passage of passages) {
    if (best.length >= most) break;
    const { id, source_type, source_id, title, text } = passage;
    const before = taken.get(source_id) ?? 0;
    if (before >= OF_ONE_SOURCE) continue;
    taken.set(source_id, before + 1);
    const score = Math.round((scores.get(id) ?? 0) * 10_000) / 10_000;
    best.push({ source_type, source_id, title, text, score, url: pageOf(passage) });
  }
  return best;
}

/** Path of the page that shows the source. */
function pageOf({ source_id, issue_id, source_type, document_key, agent_id }: StoredPassage): string {
  if (agent_id !== null) return `/agents/${agent_id}/files`;
  if (issue_id === null) return `/notes/${source_id}`;
  if (document_key !== null) return `/issues/${issue_id}/documents/${encodeURIComponent(document_key)}`;
  return source_type === 'attachment' ? `/issues/${issue_id}/material` : `/issues/${issue_id}`;
}
