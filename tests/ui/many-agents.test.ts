/** A company with more agents than a page can hold: whoever a page speaks of is still named. */
import { beforeAll, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createIssue } from '@acp/testkit';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let database: Database;
let cast: Cast;
let member: Browser;
const NAME = 'The first of all';

beforeAll(async () => {
  const pages = await startPages();
  ({ database } = pages);
  cast = await createCast(database);
  member = Browser.of(pages.app, cast.member);
  const { company_id, agent_id } = cast;
  await database.pool.query(
    `update agents set name = $1, created_at = now() - interval '1 day' where id = $2`,
    [NAME, agent_id],
  );
  await database.pool.query(
    `insert into agents (company_id, name, role, adapter_type, heartbeat_enabled, heartbeat_interval_sec)
      select $1, 'Agent ' || n, 'engineer', 'llm', false, 300 from generate_series(1, 5000) n`,
    [company_id],
  );
});

it('names who has worked, spoken, asked and spent, on the page of the issue and in lists', async () => {
  const { company_id, agent_id } = cast;
  const { db } = database;
  const issue = await createIssue(db, { id: company_id }, { checked_out_by_agent_id: agent_id });
  const about = { company_id, issue_id: issue.id };
  await db.insert(schema.comments).values({ ...about, author_agent_id: agent_id, body_markdown: 'Done.' });
  const [run] = await db
    .insert(schema.heartbeat_runs)
    .values({ ...about, agent_id, status: 'running', wake_reason: 'manual', adapter_type: 'llm' })
    .returning();
  await db
    .insert(schema.approvals)
    .values({ ...about, type: 'plan', title: 'Paint it', requested_by_agent_id: agent_id });
  const tokens = { input_tokens: 1, output_tokens: 1, cached_tokens: 0 };
  const spent = { company_id, agent_id, provider: 'x', model: 'y', cost_usd: '1', ...tokens };
  await db.insert(schema.cost_events).values(spent);
  const company = `/companies/${company_id}`;
  const here = `/issues/${issue.id}`;
  const unnamed = [];
  for (const path of [
    ...['timeline', 'run', 'working', 'decisions', 'properties'].map((part) => `${here}/part/${part}`),
    here,
    `/runs/${run!.id}`,
    ...['', '/runs', '/approvals', '/costs/entries', '/costs'].map((page) => company + page),
  ]) {
    const { text } = await member.get(path);
    if (!text.includes(NAME) || />an agent</.test(text)) unnamed.push(path);
  }
  expect(unnamed).toEqual([]);
});
