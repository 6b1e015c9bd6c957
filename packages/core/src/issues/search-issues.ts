import { type CursorValue } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { shownIssue } from './rows.ts';
import { byIdentifier, byIdentifierStart } from './find-issue.ts';

// Share of the trigrams of `q` that must occur together in the title. PostgreSQL's 0.6 misses a swap of two letters in
// six-letter words; below 0.4 everything looks alike.
const WORD_SIMILARITY_THRESHOLD = '0.45';

// Each word is a separate condition; no one types more to find a title.
const MAX_WORDS = 16;

// These limits are literals in the statement: for a limit passed as a parameter PostgreSQL expects a tenth of the table.
/** The newest issues that contain all the words are rated; if there are fewer, also some that resemble the text. */
const MOST_RATED = sql.raw('500');
/** The columns that the score needs. */
const RATED = sql.raw('i.id, i.created_at, i.title, i.issue_number, i.identifier');

/**
 * Whether the trigram index can serve a text. Without three letters or digits in a row the whole index would be read: then all
 * matches are equally good, and the newest are found without reading and rating them all.
 */
export const hasTrigram = (text: string): boolean => /[\p{L}\p{N}]{3}/u.test(text);

/**
 * Issues whose title resembles `q` or contains all its words, or whose identifier is `q` or begins with it; best first. The
 * score, an integer for the cursor's sake: 5000 for the identifier, less for a longer one, 1000 for the verbatim text, up to
 * 1000 for the similarity of the best part of the title and up to 100 for that of the whole. The trigram index
 * `issues_search` serves both kinds of match. A common word has thousands of matches: then the newest are rated, and none that
 * are merely similar. Nothing resembles an identifier but itself.
 */
export function searchIssues(
  filters: SQL,
  q: string,
  limit: number,
  after: readonly CursorValue[] | undefined,
): SQL {
  const identifier = byIdentifier(q);
  const named = identifier
    ? sql`case when ${identifier} then 5000
        when ${sql.join([sql`false`, ...byIdentifierStart(q)], sql` or `)} then 4000 - 10 * length(i.identifier) else 0 end`
    : sql`round((1000 * word_similarity(${q}, i.title) + 100 * similarity(${q}, i.title))::numeric)`;
  const page = after
    ? sql`where (score, created_at, id) < (${after[0]}::bigint, ${after[1]}::timestamptz, ${after[2]}::uuid)`
    : sql``;
  return sql`
    with ${matches(filters, q, MOST_RATED)},
    rated as materialized (
      select i.id, i.created_at,
        (case when ${titleContains(q)} then 1000 else 0 end + ${named})::int as score
      from found i
    ),
    best as materialized (
      select id, score from rated ${page} order by score desc, created_at desc, id desc limit ${limit}
    )
    select ${shownIssue}, best.score from best join issues i on i.id = best.id
    order by best.score desc, i.created_at desc, i.id desc`;
}

/** Their number, counted up to `most`. */
export function countFound(filters: SQL, q: string, most: number): SQL {
  return sql`
    with ${matches(filters, q, sql.raw(String(most)))}
    select count(*)::int as count from (select from found limit ${most}) counted`;
}

/** The sub-query `found`, and those it is made of. @param most of those that contain all the words */
function matches(filters: SQL, q: string, most: SQL): SQL {
  const identifier = byIdentifier(q);
  const all = sql.join(q.split(/\s+/).slice(0, MAX_WORDS).map(titleContains), sql` and `);
  const named = [...(identifier ? [identifier] : []), ...byIdentifierStart(q)].map(
    (condition) =>
      sql`union (select ${RATED} from issues i where ${filters} and ${condition} limit ${MOST_RATED})`,
  );
  const similar = identifier
    ? sql``
    : sql`alike as materialized (
      select ${RATED} from issues i where (select count(*) from exact) < ${MOST_RATED}
        and ${filters} and i.title %> (select q from asked)
    ),`;
  // `alike` has no limit of its own: with one PostgreSQL would prefer the table over the index. It is read only as far as needed.
  // The setting is valid for this statement (its transaction at most). It is in force before the index is read, because
  // the same sub-query supplies the value that the index is searched for.
  return sql`asked as materialized (
      select ${q}::text as q, set_config('pg_trgm.word_similarity_threshold', ${WORD_SIMILARITY_THRESHOLD}, true)
    ),
    exact as materialized (
      select ${RATED} from issues i where ${filters} and ${all}
      order by i.created_at desc nulls last, i.id desc nulls last limit ${most}
    ),
    ${similar}
    found as materialized (
      select * from exact ${identifier ? sql`` : sql`union (select * from alike limit ${MOST_RATED})`}
      ${sql.join(named, sql` `)}
    )`;
}

/** Matches part of the title, or the whole identifier. */
export function titleOrIdentifier(text: string): SQL {
  const identifier = byIdentifier(text);
  return identifier === undefined ? titleContains(text) : sql`(${titleContains(text)} or ${identifier})`;
}

/** Case-insensitive; the text is no pattern. Without a trigram in it the index must not be used: it would be read entirely. */
function titleContains(text: string): SQL {
  const title = hasTrigram(text) ? sql`i.title` : sql`(i.title || '')`;
  return sql`${title} ilike ${`%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`}`;
}
