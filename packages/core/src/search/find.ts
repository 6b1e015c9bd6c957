import type { Found } from '@acp/contract';
import { issueText, type Tx, WORDS_ARE_COPIED } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { listIssues, notTrashed } from '../issues/index.ts';

/** Limits per kind; to see more, filter a list. */
export const mostFound = { issues: 8, texts: 5, agents: 6, projects: 4, runs: 3 };
/** Maximum number of matches considered; the newest of them are shown. */
const MOST_MATCHES = 500;
const MOST_WORDS = 8;

/** Matches, best of each kind first; none for an empty text. Excludes runs that are private to someone. */
export async function find(tx: Tx, company_id: string, text: string): Promise<Found[]> {
  const q = text.trim();
  if (q === '') return [];
  const { items } = await listIssues(tx, company_id, { q, limit: mostFound.issues });
  const titled = items.map(({ id, title, identifier, status }) => issue({ id, title, identifier, status }));
  const written = await byText(
    tx,
    company_id,
    q,
    titled.map(({ id }) => id),
  );
  const named = await byName(tx, company_id, q);
  const runs = await runsOf(tx, company_id, q, titled.slice(0, mostFound.runs));
  return [...titled, ...named, ...written, ...runs];
}

interface IssueHead extends Record<string, unknown> {
  id: string;
  title: string;
  identifier: string;
  status: string;
}

const issue = ({ id, title, identifier, status }: IssueHead): Found => ({
  kind: 'issue',
  id,
  title,
  detail: identifier,
  status,
  url: `/issues/${id}`,
});

/** Issues whose description contains all the words, matched as prefixes; last changed first. */
async function byText(tx: Tx, company_id: string, q: string, known: readonly string[]): Promise<Found[]> {
  const terms = q.match(/[\p{L}\p{N}]+/gu)?.slice(0, MOST_WORDS) ?? [];
  if (terms.length === 0 || q.length < 3) return [];
  const asked = terms.map((word) => `${word}:*`).join(' & ');
  const query = sql`to_tsquery('simple', ${asked})`;
  const among = (containing: SQL) => sql`
    select id, title, identifier, status from (
      select i.id, i.title, i.identifier, i.status, i.updated_at
      from ${containing} where i.company_id = ${company_id} and ${notTrashed('i')}
        and not i.id = any(${sql.param([...known])}::uuid[])
      limit ${MOST_MATCHES}
    ) matching order by updated_at desc, id limit ${mostFound.texts}`;
  // `offset 0` keeps PostgreSQL from planning for the limit: it can't know how rare the words are, and would read the whole table
  // in the hope of finding enough early, or join all of a common word's issues. Like this, it reads as far as needed.
  const words = sql`
    (select w.issue_id from issue_words w where w.company_id = ${company_id} and w.words @@ ${query} offset 0) w
    cross join lateral (select * from issues of_words where of_words.id = w.issue_id offset 0) i`;
  // At least one row, which says whether all words are in the table.
  const { rows } = await tx.execute<{ copied: boolean } & Partial<IssueHead>>(sql`
    select state.copied, found.* from (select ${WORDS_ARE_COPIED} as copied) state left join (${among(words)}) found on true`);
  if (rows[0]?.copied === true)
    return rows.flatMap((row) => (row.id === null ? [] : issue(row as IssueHead)));
  const texts = sql`(select * from issues t where ${issueText(sql`t.body_markdown`)} @@ ${query}) i`;
  return (await tx.execute<IssueHead>(among(texts))).rows.map(issue);
}

interface Named extends Record<string, unknown> {
  kind: 'agent' | 'project';
  id: string;
  title: string;
  detail: string | null;
  status: string;
}

async function byName(tx: Tx, company_id: string, q: string): Promise<Found[]> {
  const part = `%${q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const { rows } = await tx.execute<Named>(sql`
    (select 'agent' as kind, a.id, a.name as title, a.role as detail, a.status from agents a
      where a.company_id = ${company_id} and a.deleted_at is null
        and (a.name ilike ${part} or a.role ilike ${part} or a.title ilike ${part})
      order by a.status = 'terminated', position(lower(${q}) in lower(a.name)) = 0, a.name, a.id limit ${mostFound.agents})
    union all
    (select 'project', p.id, p.name, null, p.status from projects p
      where p.company_id = ${company_id} and p.deleted_at is null and p.name ilike ${part}
      order by p.name, p.id limit ${mostFound.projects})`);
  return rows.map((row) => ({ ...row, url: `/${row.kind}s/${row.id}` }));
}

interface RunHead extends Record<string, unknown> {
  id: string;
  status: string;
  wake_reason: string;
  agent_name: string;
  identifier: string | null;
}

/** The newest run of each issue, or the run with that id. */
async function runsOf(tx: Tx, company_id: string, q: string, issues: readonly Found[]): Promise<Found[]> {
  const ids = issues.map(({ id }) => id);
  if (ids.length === 0 && !isUuid(q)) return [];
  const mine = sql`r.company_id = ${company_id} and r.private_to_user_id is null`;
  const chosen = isUuid(q)
    ? sql`select r.id from heartbeat_runs r where r.id = ${q} and ${mine}`
    : sql`select newest.id from unnest(${sql.param(ids)}::uuid[]) asked(id)
        cross join lateral (select r.id from heartbeat_runs r where r.issue_id = asked.id and ${mine}
          order by r.created_at desc nulls last, r.id desc nulls last limit 1) newest`;
  const { rows } = await tx.execute<RunHead>(sql`
    select r.id, r.status, r.wake_reason, a.name as agent_name, i.identifier
    from heartbeat_runs r join agents a on a.id = r.agent_id left join issues i on i.id = r.issue_id
    where r.id in (${chosen}) order by r.created_at desc, r.id desc limit ${mostFound.runs}`);
  return rows.map(({ id, status, wake_reason, agent_name, identifier }) => ({
    kind: 'run',
    id,
    title: identifier === null ? `Run of ${agent_name}` : `Run of ${agent_name} on ${identifier}`,
    detail: wake_reason,
    status,
    url: `/runs/${id}`,
  }));
}
