/** A company as it looks after a year: 60 agents, 5,000 issues, 20,000 runs. Created by set-based inserts, always the same. */
import type { Database } from '@acp/db';

const VERBS = ['Fix', 'Measure', 'Rewrite', 'Document', 'Speed up', 'Remove', 'Test', 'Translate', 'Review'];
const THINGS =
  `the login page,the checkout,invoices of last month,the nightly export,the newsletter,the search of the shop,
  the returns form,the price list,the onboarding mail,the status page,the sitemap,the warehouse feed,the refund flow,
  the mobile menu,the team calendar,the landing page,the supplier report`
    .split(',')
    .map((thing) => thing.trim());
const ENDS = [
  '',
  '',
  'on phones',
  'for new customers',
  'before the spring sale',
  'in three languages',
  'again',
];
const NAMES =
  `Ada Grace Linus Margaret Alan Barbara Ken Dennis Edsger Radia Frances Jean Betty Kathleen Ida Joan Mary Adele
  Shafi Leslie Tony Niklaus Donald John Robin Dana Vint Tim Guido Bjarne`.split(/\s+/);
const ROLES = ['engineer', 'researcher', 'designer', 'qa', 'devops', 'pm'];

/** @param company_id the company, which has its first agent */
export async function fillCompany({ pool }: Database, company_id: string, chief_id: string): Promise<void> {
  const run = async (text: string, ...values: unknown[]) => pool.query(text, [company_id, ...values]);
  await run(`update companies set name = 'Harbour Books', identifier_prefix = 'HAR' where id = $1`);
  await run(
    `update agents set name = 'Ada', role = 'ceo', title = 'Chief executive' where id = $2 and company_id = $1`,
    chief_id,
  );
  await run(AGENTS, NAMES, ROLES, chief_id);
  await run(`insert into agent_runtime_states (agent_id, last_heartbeat_at) select id, now() - interval '3 minutes' from agents
    where company_id = $1 on conflict do nothing`);
  await run(MANAGERS, chief_id);
  await run(
    `insert into projects (company_id, name, description)
    select $1, initcap(p), 'What we do about ' || p || '.' from unnest($2::text[]) p`,
    THINGS.slice(0, 12),
  );
  await run(
    `insert into labels (company_id, name, color) select $1, l, c from unnest($2::text[], $3::text[]) as x(l, c)`,
    ['bug', 'feature', 'customer', 'urgent', 'later'],
    ['#c0392b', '#2980b9', '#27ae60', '#e67e22', '#8e44ad'],
  );
  await run(ISSUES, VERBS, THINGS, ENDS);
  await run(
    `insert into issue_counters values ($1, 100001) on conflict (company_id) do update set next = excluded.next`,
  );
  await run(LABELLED);
  await run(COMMENTS);
  await run(RUNS);
  await run(COSTS);
  await run(TRANSCRIPTS);
  await run(ACTIVITY);
  await run(APPROVALS);
  await run(NOTES, THINGS);
  await run(CHATS);
  await run(MESSAGES);
  await pool.query('vacuum analyze');
}

const AGENTS = `
  insert into agents (company_id, name, role, title, adapter_type, model, status, heartbeat_enabled, heartbeat_interval_sec,
    created_at)
  select $1, ($2::text[])[1 + n % 30] || case when n < 30 then '' else ' ' || chr(65 + n % 7) || '.' end,
    ($3::text[])[1 + n % 6], initcap(($3::text[])[1 + n % 6]) || ' of the shop', 'llm', 'gpt-5-mini',
    (array['idle', 'idle', 'idle', 'running', 'paused', 'idle', 'error'])[1 + n % 7], true, 300, now() - make_interval(days => 60)
  from generate_series(1, 59) n where $4::uuid is not null`;

/** Six agents report to the chief, all others to one of the six. */
const MANAGERS = `
  with numbered as (select id, row_number() over (order by name, id) as n from agents where company_id = $1 and id <> $2::uuid)
  update agents set reports_to = case when mine.n <= 6 then $2::uuid else above.id end
  from numbered mine left join numbered above on above.n = 1 + mine.n % 6 where agents.id = mine.id`;

// Numbers start at 100: those below belong to the stage's own issues.
const ISSUES = `
  with agent as (select id, row_number() over (order by name, id) as n from agents where company_id = $1),
  project as (select id, row_number() over (order by name) as n from projects where company_id = $1),
  numbered as (select k, (k::bigint * 2654435761) % 1000003 as h from generate_series(101, 5100) k)
  insert into issues (company_id, title, body_markdown, status, priority, assignee_agent_id, project_id, identifier,
    issue_number, awaiting_input, needs_human_attention, created_at, updated_at)
  select $1, trim(($2::text[])[1 + h % 9] || ' ' || ($3::text[])[1 + (h / 9) % 17] || ' ' || ($4::text[])[1 + (h / 153) % 7]),
    E'Customers wrote about it **' || 1 + h % 30 || E' times** last week.\\n\\n- [ ] Find where it happens\\n- [x] Ask support\\n\\n'
      || E'| when | how often |\\n| --- | --- |\\n| in the morning | 12 |\\n| at night | 3 |\\n',
    case when k > 5080 then 'in_progress' when h % 100 < 70 then 'done' when h % 100 < 80 then 'backlog' when h % 100 < 90 then 'todo'
      when h % 100 < 94 then 'in_progress' when h % 100 < 97 then 'cancelled' when h % 100 < 99 then 'in_review' else 'blocked' end,
    (array['low', 'medium', 'medium', 'high', 'critical'])[1 + h % 5], agent.id, project.id, 'HAR-' || k, k,
    h % 400 = 1, h % 350 = 2, now() - make_interval(mins => (5100 - k) * 70), now() - make_interval(mins => (5100 - k) * 50)
  from numbered left join agent on agent.n = 1 + h % 75 left join project on project.n = 1 + h % 16`;

const LABELLED = `
  insert into issue_labels (issue_id, label_id)
  select i.id, l.id from issues i join (select id, row_number() over (order by name) as n from labels where company_id = $1) l
    on l.n = 1 + i.issue_number % 9 where i.company_id = $1 on conflict do nothing`;

/** Three comments on each of the newest thousand issues, a hundred and twenty on the newest. */
const COMMENTS = `
  insert into comments (company_id, issue_id, author_agent_id, author_label, body_markdown, created_at)
  select $1, i.id, case when c % 3 = 0 then null else i.assignee_agent_id end, case when c % 3 = 0 then 'Integration' end,
    case c % 4 when 0 then 'Seen again this morning, by two customers.'
      when 1 then E'I looked at the logs:\\n\\n\`\`\`ts\\nconst total = basket.sum(); // NaN when it is empty\\n\`\`\`\\n'
      when 2 then '@Grace can you look at this before HAR-' || i.issue_number - 1 || '?'
      else 'Done: the page answers in 80 ms now, before it was 1.4 s.' end, i.updated_at - make_interval(mins => 200 - c)
  from issues i, generate_series(1, 120) c
  where i.company_id = $1 and i.issue_number > 4100 and (c <= 3 or i.issue_number = 5100)`;

const RUNS = `
  with issue as (select id, assignee_agent_id, row_number() over (order by issue_number desc) as n from issues
    where company_id = $1 and assignee_agent_id is not null)
  insert into heartbeat_runs (company_id, agent_id, kind, subject_type, subject_id, issue_id, status, wake_reason, adapter_type, model,
    input_tokens, output_tokens, cached_tokens, cost_usd, summary, error, error_category, created_at, started_at, finished_at)
  select $1, issue.assignee_agent_id, 'heartbeat', 'issue', issue.id, issue.id,
    case when r % 17 = 0 then 'failed' when r % 41 = 0 then 'cancelled' else 'succeeded' end,
    (array['assignment', 'schedule', 'mention', 'manual'])[1 + r % 4], 'llm', 'gpt-5-mini', 4000 + r % 9000, 200 + r % 1500, r % 3000,
    (0.001 + (r % 97) * 0.0004)::numeric(18, 8), 'Looked into it, and said what is next.',
    case when r % 17 = 0 then 'the model could not be reached: connect ECONNREFUSED 10.0.0.7:443' end,
    case when r % 17 = 0 then 'provider' end, now() - make_interval(mins => r * 2), now() - make_interval(mins => r * 2, secs => -1),
    now() - make_interval(mins => r * 2, secs => -20 - r % 60)
  from generate_series(1, 20000) r join issue on issue.n = 1 + r % 2500`;

const COSTS = `
  insert into cost_events (company_id, agent_id, run_id, issue_id, provider, model, input_tokens, output_tokens, cached_tokens, cost_usd,
    occurred_at)
  select company_id, agent_id, id, issue_id, 'OpenAI', model, input_tokens, output_tokens, cached_tokens, cost_usd, finished_at
  from heartbeat_runs where company_id = $1 and finished_at is not null`;

/** Transcripts of the newest two hundred runs. */
const TRANSCRIPTS = `
  insert into run_events (run_id, part, seq, kind, payload, created_at)
  select r.id, r.transcript_part, s.seq, s.kind, s.payload, r.started_at + make_interval(secs => s.seq)
  from (select * from heartbeat_runs where company_id = $1 and started_at is not null order by created_at desc limit 200) r,
  (values (1, 'status', '{"status": "running"}'::jsonb),
    (2, 'prompt', '{"system": "You are an engineer of Harbour Books.", "prompt": "Fix the login page."}'),
    (3, 'output', '{"text": "I look at the form first. It sends the password twice, which the server refuses.\\n"}'),
    (4, 'action', '{"verb": "comment", "args": {"line": "Found it: the form sends the password twice."}, "ok": true, "result": "a comment"}'),
    (5, 'action', '{"verb": "status", "args": {"line": "done"}, "ok": true, "result": "status done"}'),
    (6, 'log', '{"text": "2 verbs applied"}')) as s (seq, kind, payload)`;

const ACTIVITY = `
  insert into activity (company_id, actor_type, actor_id, actor_name, action, entity_type, entity_id, details, created_at)
  select $1, 'agent', r.agent_id, a.name, 'issue.updated', 'issue', r.issue_id, '{"status": "in_progress"}', r.finished_at
  from heartbeat_runs r join agents a on a.id = r.agent_id where r.company_id = $1 and r.issue_id is not null`;

const APPROVALS = `
  insert into approvals (company_id, type, title, description, status, issue_id, requested_by_agent_id, created_at)
  select $1, 'action', 'Tell our customers of ' || identifier, 'A mail to the 1,200 who asked for it.',
    case when issue_number % 4 = 0 then 'approved' else 'pending' end, id, assignee_agent_id, updated_at
  from issues where company_id = $1 and issue_number > 4980`;

const NOTES = `
  insert into notes (company_id, title, body_markdown)
  select $1, initcap(t) || ', part ' || n, 'What we know of ' || t || E'.\\n\\n## Numbers\\n\\n1. It was slow.\\n2. It is fast.'
  from unnest($2::text[]) t, generate_series(1, 12) n`;

const CHATS = `
  insert into chats (company_id, agent_id, title, last_turn, updated_at)
  select $1, a.id, 'How is ' || (array['the spring sale', 'the checkout', 'the newsletter'])[1 + n % 3] || ' going?', 10,
    now() - make_interval(hours => n)
  from generate_series(1, 120) n join lateral (select id from agents where company_id = $1 order by md5(id::text || n) limit 1) a on true`;

const MESSAGES = `
  insert into chat_messages (company_id, chat_id, position, role, body_markdown, author_name, status, created_at)
  select $1, c.id, p, case when p % 2 = 0 then 'user' else 'assistant' end,
    case when p % 2 = 0 then 'And what is left to do?' else E'Three things are left:\\n\\n1. the mail,\\n2. the page,\\n3. the price list.' end,
    case when p % 2 = 0 then 'Integration' else 'Ada' end, 'answered', c.updated_at
  from chats c, generate_series(2, 21) p where c.company_id = $1 and c.last_turn = 10`;

/** Finds the company's entities with the most content, to replace those of the stage. */
export async function findBusiest({ pool }: Database, company_id: string): Promise<Record<string, string>> {
  const { rows } = await pool.query<Record<string, string>>(
    `select
      (select id from issues where company_id = $1 and issue_number = 5100) as "issueId",
      (select id from heartbeat_runs where company_id = $1 and finished_at is not null order by created_at desc limit 1) as "runId",
      (select id from chats where company_id = $1 and last_turn = 10 limit 1) as "chatId"`,
    [company_id],
  );
  return rows[0]!;
}
