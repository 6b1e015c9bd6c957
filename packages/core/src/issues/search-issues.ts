import { type CursorValue } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { shownIssue } from './rows.ts';
import { byIdentifier } from './find-issue.ts';

// Of the trigrams of `q`, so many must lie together in the title. PostgreSQL's 0.6 misses a swap of two letters in
// words of six; below 0.4 everything looks alike.
const WORD_SIMILARITY_THRESHOLD = '0.45';

// Each word is a condition of its own; nobody types more to find a title.
const MAX_WORDS = 16;

// How much is looked at stands in the statement's text: of a limit among the values PostgreSQL expects a tenth of the table.
/** The newest of the issues that have all the words are rated; some of those that resemble the text, too, where these are fewer. */
const MOST_RATED = sql.raw('500');
/** What the score looks at. */
const RATED = sql.raw('i.id, i.created_at, i.title, i.issue_number, i.identifier');

/**
 * Whether the trigram index serves a text. Without three letters or digits in a row it would be read as a whole: then matches are as
 * good as each other, and the newest of them are found without reading and rating them all.
 */
export const hasTrigram = (text: string): boolean => /[\p{L}\p{N}]{3}/u.test(text);

/**
 * Issues whose title resembles `q`, contains all its words, or that `q` names by identifier; best first. The score, a
 * whole number for the cursor's sake: 5000 for the identifier, 1000 for the text as it stands, up to 1000 for the
 * likeness of the best part of the title and up to 100 for that of the whole. The trigram index `issues_search` serves
 * both kinds of match. Of a common word it knows thousands: the newest are rated then, and nothing that only resembles.
 */
export function searchIssues(
  filters: SQL,
  q: string,
  limit: number,
  after: readonly CursorValue[] | undefined,
): SQL {
  const identifier = byIdentifier(q) ?? sql`false`;
  const all = sql.join(q.split(/\s+/).slice(0, MAX_WORDS).map(titleContains), sql` and `);
  const page = after
    ? sql`where (score, created_at, id) < (${after[0]}::bigint, ${after[1]}::timestamptz, ${after[2]}::uuid)`
    : sql``;
  // `alike` has no limit of its own: for one PostgreSQL would rather read the table than the index. It is read no further than asked.
  // The setting lasts for this statement (its transaction at most). It is in force before the index is read, because
  // the index is asked for the value that the same sub-query answers.
  return sql`
    with asked as materialized (
      select ${q}::text as q, set_config('pg_trgm.word_similarity_threshold', ${WORD_SIMILARITY_THRESHOLD}, true)
    ),
    exact as materialized (
      select ${RATED} from issues i where ${filters} and ${all}
      order by i.created_at desc nulls last, i.id desc nulls last limit ${MOST_RATED}
    ),
    alike as materialized (
      select ${RATED} from issues i where (select count(*) from exact) < ${MOST_RATED}
        and ${filters} and i.title %> (select q from asked)
    ),
    rated as materialized (
      select i.id, i.created_at, (
        case when ${identifier} then 5000 else 0 end
        + case when ${titleContains(q)} then 1000 else 0 end
        + round((1000 * word_similarity(${q}, i.title) + 100 * similarity(${q}, i.title))::numeric)
      )::int as score
      from (
        select * from exact union (select * from alike limit ${MOST_RATED})
        union select ${RATED} from issues i where ${filters} and ${identifier}
      ) i
    ),
    best as materialized (
      select id, score from rated ${page} order by score desc, created_at desc, id desc limit ${limit}
    )
    select ${shownIssue}, best.score from best join issues i on i.id = best.id
    order by best.score desc, i.created_at desc, i.id desc`;
}

/** Part of the title, or the whole identifier. */
export function titleOrIdentifier(text: string): SQL {
  const identifier = byIdentifier(text);
  return identifier === undefined ? titleContains(text) : sql`(${titleContains(text)} or ${identifier})`;
}

/** In any case of letters; the text is no pattern. Without a trigram in it the index must not be tried: it would be read as a whole. */
export function titleContains(text: string): SQL {
  const title = hasTrigram(text) ? sql`i.title` : sql`(i.title || '')`;
  return sql`${title} ilike ${`%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`}`;
}
