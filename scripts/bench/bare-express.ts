/**
 * A handwritten baseline: Express and pg, with the same prepared statements as the service and no rules around them. It is
 * a separate process, so that it competes for the machine exactly as the service does. `--remember-keys` caches a key, as
 * the service does for ten seconds; without it each request looks the key up.
 */
import { createHash } from 'node:crypto';
import express from 'express';
import type { Request, Response } from 'express';
import { Pool } from 'pg';

interface Caller {
  company_id: string;
}

const [url = '', mode = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 10 });
const remembered = new Map<string, Caller>();

const KEY = `
  select key.id, key.company_id, agent.name, agent.id as agent_id, agent.permissions, key.run_id
  from agent_api_keys key
  join agents agent on agent.id = key.agent_id and agent.deleted_at is null and agent.status <> 'terminated'
  join companies company on company.id = key.company_id and company.deleted_at is null
  where key.key_hash = $1`;

const COLUMNS = `i.id, i.company_id, i.project_id, i.goal_id, i.parent_issue_id, i.title, i.status, i.priority,
  i.assignee_agent_id, i.checked_out_by_agent_id, i.checked_out_at, i.origin_kind, i.origin_id, i.identifier,
  i.issue_number, i.awaiting_input, i.needs_routing, i.needs_human_attention, i.run_failed, i.blocked_at, i.blocked_reason,
  i.blocked_by_agent_id, i.created_at, i.updated_at, i.body_markdown`;

const NOT_TRASHED = `i.deleted_at is null and (i.parent_issue_id is null or not exists (
  with recursive above as (
    select p.parent_issue_id, p.deleted_at from issues p where p.id = i.parent_issue_id
    union all
    select p.parent_issue_id, p.deleted_at from above join issues p on p.id = above.parent_issue_id
  ) select from above where deleted_at is not null))`;

const ISSUE = `select ${COLUMNS} from issues i join companies c on c.id = i.company_id
  where i.id = $1 and c.deleted_at is null and ${NOT_TRASHED}`;

const DETAIL = `
  with recursive above as (
    select p.id, p.identifier, p.title, p.status, p.parent_issue_id, 1 as distance from issues p where p.id = $2
    union all
    select p.id, p.identifier, p.title, p.status, p.parent_issue_id, above.distance + 1
    from above join issues p on p.id = above.parent_issue_id
  )
  select
    (select count(*)::int from comments c where c.issue_id = $1) as comment_count,
    (select json_agg(json_build_object('id', id, 'identifier', identifier, 'title', title, 'status', status)
      order by distance) from above) as ancestors,
    (select json_agg(json_build_object('id', l.id, 'company_id', l.company_id, 'name', l.name, 'color', l.color,
        'created_at', l.created_at) order by lower(l.name), l.id)
      from issue_labels x join labels l on l.id = x.label_id where x.issue_id = $1) as labels`;

const LIST = `select ${COLUMNS} from issues i where i.company_id = $1 and ${NOT_TRASHED}
  order by i.created_at desc nulls last, i.id desc nulls last limit 51`;

const NUMBER = `update issue_counters held set next = next + 1 from companies c
  where held.company_id = $1 and c.id = held.company_id and c.deleted_at is null
  returning c.identifier_prefix, held.next - 1 as number`;

const INSERT = `insert into issues as i (company_id, title, body_markdown, status, assignee_agent_id, identifier, issue_number)
  values ($1, $2, $3, 'todo', $4, $5, $6) returning ${COLUMNS}`;

async function callerOf(request: Request): Promise<Caller | undefined> {
  const key = request.headers.authorization?.slice('Bearer '.length) ?? '';
  const hash = createHash('sha256').update(key).digest('hex');
  const known = remembered.get(hash);
  if (known !== undefined) return known;
  const { rows } = await pool.query<Caller & Record<string, unknown>>({
    name: 'key',
    text: KEY,
    values: [hash],
  });
  if (mode === '--remember-keys' && rows[0] !== undefined) remembered.set(hash, rows[0]);
  return rows[0];
}

const app = express();

app.get('/api/issues/:id', async (request: Request, response: Response) => {
  const caller = await callerOf(request);
  const { rows } = await pool.query({ name: 'issue', text: ISSUE, values: [request.params.id] });
  const issue = rows[0];
  if (caller === undefined || issue?.company_id !== caller.company_id) return void response.sendStatus(404);
  const extras = (
    await pool.query({ name: 'detail', text: DETAIL, values: [issue.id, issue.parent_issue_id] })
  ).rows[0];
  response.json({
    ...issue,
    ancestors: extras.ancestors ?? [],
    labels: extras.labels ?? [],
    comment_count: extras.comment_count,
  });
});

app.get('/api/companies/:id/issues', async (request: Request, response: Response) => {
  const caller = await callerOf(request);
  if (caller === undefined || caller.company_id !== request.params.id) return void response.sendStatus(404);
  const { rows } = await pool.query({ name: 'list', text: LIST, values: [caller.company_id] });
  response.json(rows.slice(0, 50));
});

app.post(
  '/api/companies/:id/issues',
  express.json(),
  async (request: Request<{ id: string }, unknown, Record<string, string>>, response: Response) => {
    const caller = await callerOf(request);
    if (caller === undefined || caller.company_id !== request.params.id) return void response.sendStatus(404);
    const { title, body_markdown: body, assignee_agent_id: assignee } = request.body;
    const client = await pool.connect();
    try {
      await client.query('begin');
      const { identifier_prefix: prefix, number } = (
        await client.query({ name: 'number', text: NUMBER, values: [caller.company_id] })
      ).rows[0];
      const identifier = `${prefix}-${number}`;
      const values = [caller.company_id, title, body, assignee, identifier, number];
      const { rows } = await client.query({ name: 'insert', text: INSERT, values });
      await client.query('commit');
      response.status(201).json(rows[0]);
    } finally {
      client.release();
    }
  },
);

const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? `http://127.0.0.1:${address?.port}` : '');
});
process.once('disconnect', () => process.exit(0));
