/** Weights of a question's words in a company: the rarer, the higher. */
import type { Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { FrequentTerms } from './frequent-terms.ts';
import { weighed, type WeighedTerm } from './query-terms.ts';

// In passages.
/** Above this, the number of passages that contain a word is estimated. */
const COUNTED = 2000;
const SAMPLED = 400;
/** A word in so many of the sample that it must be in more than are counted is not counted: to find all that have it takes longest. */
const SURELY = 16;
const FAR_MORE = 2 * COUNTED;
/** From here on, their number is remembered, like that of the passages with a frequent word. */
const MANY = 10 * COUNTED;
/** In every passage. */
const ANY = '';

const frequent = new FrequentTerms({ most: 50_000, kept_ms: 600_000 });

// Passages must be found by the index on their words, or on their headings, whatever the planner assumes about the values: it
// would read the whole table if a term is known to be frequent or the limit might be small, and all passages of a company that
// it assumes to be new. So limits are literals, and values come from sub-queries.
const mostCounted = sql.raw(String(COUNTED));
const sampled = sql.raw(String(SAMPLED));
export const unseen = (id: string): SQL => sql`(select ${id}::uuid)`;

/** The terms with their frequency in the company's passages, and how many passages it has. */
export async function weighTerms(
  tx: Tx,
  company_id: string,
  terms: readonly string[],
): Promise<{ terms: WeighedTerm[]; passages: number }> {
  const known = new Map(terms.map((term) => [term, frequent.found(company_id, term)]));
  const unknown = terms.filter((term) => known.get(term) === undefined);
  const remembered = frequent.found(company_id, ANY);
  const counted =
    remembered === undefined || unknown.length > 0 ? await count(tx, company_id, unknown, remembered) : [];
  const passages = remembered ?? counted[0]?.passages ?? 0;
  if (remembered === undefined && passages >= MANY) frequent.add(company_id, ANY, passages);
  for (const { term, found, share } of counted) {
    if (term === null) continue;
    const many = found === null || found === COUNTED;
    const about = many ? Math.max(COUNTED, Math.round(share * passages)) : found;
    known.set(term, about);
    if (many) frequent.add(company_id, term, about);
  }
  const all = terms.map((term) => ({ term, found: known.get(term) ?? 0 }));
  return { terms: weighed(all, passages), passages };
}

interface Counted extends Record<string, unknown> {
  term: string | null;
  /** Up to `COUNTED`; null: it is in far more. */
  found: number | null;
  /** Of the sampled passages; none are if the company has no more than are counted. */
  share: number;
  passages: number;
}

/**
 * One row at least, for the number of passages, unless it is known. Ids are random, so a company's first passages are a random
 * sample of them.
 */
async function count(
  tx: Tx,
  company_id: string,
  terms: readonly string[],
  passages: number | undefined,
): Promise<Counted[]> {
  const all = sql`(select coalesce(sum(chunk_count), 0)::int from knowledge_sources where company_id = ${company_id})`;
  const { rows } = await tx.execute<Counted>(sql`
    with size as materialized (
      select ${passages === undefined ? all : sql`${passages}::int`} as passages
    ), sample as materialized (
      select words || ''::tsvector as words from knowledge_chunks
      where company_id = ${company_id} and (select passages from size) > ${mostCounted} order by id limit ${sampled}
    ), asked as materialized (
      select t.term, (select count(*) from sample where words @@ to_tsquery('simple', t.term)) as seen,
        greatest(1, (select count(*) from sample)) as sampled
      from jsonb_array_elements_text(${JSON.stringify(terms)}::jsonb) as t (term)
    )
    select a.term, size.passages, a.seen::float8 / a.sampled as share,
      case when a.seen < ${SURELY} or a.seen * size.passages < ${FAR_MORE} * a.sampled then (
        select count(*)::int from (
          select from knowledge_chunks k where k.company_id = ${unseen(company_id)} and k.words @@ to_tsquery('simple', a.term)
          limit ${mostCounted}) hit) end as found
    from size left join asked a on true`);
  return rows;
}
