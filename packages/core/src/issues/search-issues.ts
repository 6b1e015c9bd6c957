import { type CursorValue } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { shownIssue } from './rows.ts';
import { byIdentifier } from './find-issue.ts';

// Of the trigrams of `q`, so many must lie together in the title. PostgreSQL's 0.6 misses a swap of two letters in
// words of six; below 0.4 everything looks alike.
const WORD_SIMILARITY_THRESHOLD = '0.45';

// Each word is a condition of its own; nobody types more to find a title.
const MAX_WORDS = 16;

/**
 * Below this length there is no trigram: matches are as good as each other, and the newest of them are found without
 * reading and rating them all.
 */
export const SHORTEST_FUZZY = 3;

/**
 * Issues whose title resembles `q`, contains all its words, or that `q` names by identifier; best first. The score, a
 * whole number for the cursor's sake: 5000 for the identifier, 1000 for the text as it stands, up to 1000 for the
 * likeness of the best part of the title and up to 100 for that of the whole. The trigram index `issues_search` serves
 * both kinds of match.
 */
export function searchIssues(
  filters: SQL,
  q: string,
  limit: number,
  after: readonly CursorValue[] | undefined,
): SQL {
  const identifier = byIdentifier(q) ?? sql`false`;
  const words = q.split(/\s+/).slice(0, MAX_WORDS).map(titleContains);
  const page = after
    ? sql`where (score, created_at, id) < (${after[0]}::bigint, ${after[1]}::timestamptz, ${after[2]}::uuid)`
    : sql``;
  // The setting lasts for this statement (its transaction at most). It is in force before the index is read, because
  // the index is asked for the value that the same sub-query answers.
  return sql`
    with asked as materialized (
      select ${q}::text as q, set_config('pg_trgm.word_similarity_threshold', ${WORD_SIMILARITY_THRESHOLD}, true)
    ),
    found as (
      select ${shownIssue}, (
        case when ${identifier} then 5000 else 0 end
        + case when ${titleContains(q)} then 1000 else 0 end
        + round((1000 * word_similarity(${q}, i.title) + 100 * similarity(${q}, i.title))::numeric)
      )::int as score
      from issues i
      where ${filters} and (i.title %> (select q from asked) or (${sql.join(words, sql` and `)}) or ${identifier})
    )
    select * from found ${page} order by score desc, created_at desc, id desc limit ${limit}`;
}

/** Part of the title, or the whole identifier. */
export function titleOrIdentifier(text: string): SQL {
  const identifier = byIdentifier(text);
  return identifier === undefined ? titleContains(text) : sql`(${titleContains(text)} or ${identifier})`;
}

/** In any case of letters; the text is no pattern. */
export function titleContains(text: string): SQL {
  return sql`i.title ilike ${`%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`}`;
}
