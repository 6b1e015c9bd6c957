/** Creates a million issues in a minute: set-based inserts, with the search index built afterwards. */
import type { Database } from '@acp/db';

export interface LargeCompany {
  id: string;
  issues: number;
}

/** Vocabulary of the titles; five words make a title, in an order that repeats only after millions. */
const WORDS =
  `invoice payment customer login password database migration schema index report dashboard export import
  deployment pipeline container network timeout retry queue worker scheduler calendar email notification template
  translation layout button colour contrast keyboard mobile browser cache session token permission audit backup restore
  upgrade license contract supplier warehouse shipment order refund discount coupon checkout basket catalogue search
  filter sorting paging upload download attachment image video thumbnail font spacing header footer navigation menu`
    .split(/\s+/)
    .filter((word) => word !== '');

/** The first company has a tenth of all issues; the others share the rest evenly. */
export async function fillDatabase(
  { pool }: Database,
  issues: number,
  companies: number,
): Promise<{ largest: LargeCompany; typical: LargeCompany; agent_id: string }> {
  await pool.query(
    `insert into companies (name, slug, identifier_prefix)
     select 'Company ' || n, 'company-' || n, 'C' || n from generate_series(1, $1::int) n`,
    [companies],
  );
  await pool.query('insert into issue_counters (company_id, next) select id, $1::int + 1 from companies', [
    issues,
  ]);
  await pool.query(
    `insert into agents (company_id, name, role, adapter_type, heartbeat_enabled, heartbeat_interval_sec)
     select id, name || ' agent ' || n, 'engineer', 'llm', false, 300 from companies, generate_series(1, 20) n`,
  );
  const { rows: indexes } = await pool.query<{ indexdef: string }>(
    `select indexdef from pg_indexes where indexname = 'issues_search'`,
  );
  await pool.query('drop index issues_search');
  await pool.query(INSERT, [issues, companies, WORDS]);
  for (const { indexdef } of indexes) await pool.query(indexdef);
  await pool.query('vacuum analyze');
  const { rows } = await pool.query<LargeCompany>(
    'select company_id as id, count(*)::int as issues from issues group by 1 order by 2 desc',
  );
  const [largest, typical] = [rows[0]!, rows[Math.floor(rows.length / 2)]!];
  const { rows: agents } = await pool.query<{ id: string }>(
    'select assignee_agent_id as id from issues where company_id = $1 and assignee_agent_id is not null limit 1',
    [typical.id],
  );
  return { largest, typical, agent_id: agents[0]!.id };
}

// Statuses as on an old board: most are done, one in a hundred is blocked. One in four has no assignee.
const INSERT = `
  with company as (select id, row_number() over (order by slug) as place from companies),
  agent as (select id, company_id, row_number() over (partition by company_id order by name) as place from agents),
  numbered as (
    select n, case when n % 10 = 0 then 1 else 2 + n % ($2::int - 1) end as place,
      (n::bigint * 2654435761) % 1000003 as h
    from generate_series(1, $1::int) n
  )
  insert into issues (company_id, title, body_markdown, status, priority, assignee_agent_id, identifier, issue_number,
    created_at, updated_at)
  select c.id,
    initcap(w[1 + h % cardinality(w)]) || ' ' || w[1 + (h / 7) % cardinality(w)] || ' ' || w[1 + (h / 83) % cardinality(w)] || ' ' || w[1 + (h / 613) % cardinality(w)]
      || ' ' || w[1 + (h / 4099) % cardinality(w)],
    repeat('Something is to be done about it. ', 5),
    case when h % 100 < 70 then 'done' when h % 100 < 80 then 'backlog' when h % 100 < 90 then 'todo'
      when h % 100 < 95 then 'in_progress' when h % 100 < 98 then 'cancelled' when h % 100 < 99 then 'in_review'
      else 'blocked' end,
    case when h % 10 = 0 then 'high' else 'medium' end,
    a.id, 'C' || c.place || '-' || n, n, now() - make_interval(secs => $1::int - n), now()
  from numbered
  join company c on c.place = numbered.place
  left join agent a on a.company_id = c.id and a.place = 1 + h % 27,
  (select $3::text[] as w) words`;
