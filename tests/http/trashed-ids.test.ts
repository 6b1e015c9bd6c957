/**
 * References to what is in the trash (decisions 10.6), generated from the database's columns and the endpoint table: every
 * reference of a stage names the same agent, project, goal and issue. Once these are in the trash, no answer names them.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { endpoints, type EndpointRow } from '@acp/contract';
import request from 'supertest';
import { type Cast, createCast } from './cast.ts';
import { createStage, pathOn, type Stage } from './stage.ts';
import { startWholeApp, type WholeApp } from './whole-app.ts';

let app: WholeApp;
let cast: Cast;
let stage: Stage;

beforeAll(async () => {
  app = await startWholeApp({ SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
  cast = await createCast(app.database);
  stage = await createStage(app.database, cast);
});

afterAll(() => app.close());

const kinds = ['agent', 'project', 'goal', 'issue'] as const;
type Kind = (typeof kinds)[number];

/** Who did something, and lists of what happened, keep their ids. */
const isHistory = (field: string): boolean =>
  /^(?:author|created_by|requested_by|convened_by|started_by)_agent_id$/.test(field) || field === 'entity_id';

const rows = endpoints.filter(
  ({ method, id, auth }) =>
    method === 'GET' && id !== 'live.stream' && auth.some((actor) => actor !== 'worker'),
);

const callerOf = ({ auth, role }: EndpointRow) =>
  role === 'instance_admin' ? cast.instance_admin : auth.includes('user') ? cast.admin : cast.agent;

/** What each endpoint answers; nothing for those that refuse. */
async function answers(): Promise<[string, unknown][]> {
  const all: [string, unknown][] = [];
  for (const row of rows) {
    const sent = request(app.server).get(pathOn(stage, row)).set(callerOf(row).headers);
    const { status, body } = await sent;
    all.push([row.id, status < 300 ? body : null]);
  }
  return all;
}

/** Places of the id, such as `chats.list [] agent_id`. */
function placesOf(value: unknown, id: string, place: readonly string[]): string[] {
  if (value === id) return [place.join(' ')];
  if (Array.isArray(value)) return value.flatMap((each) => placesOf(each, id, [...place, '[]']));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => placesOf(inner, id, [...place, name]));
}

async function placesNow(targets: Record<Kind, string>): Promise<string[]> {
  const found = (await answers()).flatMap(([row, body]) =>
    kinds.flatMap((kind) => placesOf(body, targets[kind], [row])),
  );
  return [...new Set(found)].filter((place) => !isHistory(place.split(' ').at(-1)!)).toSorted();
}

async function createTargets(): Promise<Record<Kind, string>> {
  const create = async (kind: Kind, body: object) => {
    const sent = request(app.server).post(`/api/companies/${cast.company_id}/${kind}s`);
    const { status, body: made } = await sent.set(cast.admin.headers).send(body);
    expect([kind, status]).toEqual([kind, 201]);
    return (made as { id: string }).id;
  };
  return {
    agent: await create('agent', { name: 'Gone', role: 'qa' }),
    project: await create('project', { name: 'Gone' }),
    goal: await create('goal', { title: 'Gone' }),
    issue: await create('issue', { title: 'Gone' }),
  };
}

/**
 * Columns that may name something else than what their row is a part of: those that may be empty, and a chat's agent. What lies
 * below an issue or a goal goes into the trash with it.
 */
const REFERENCES = `
  select c.table_name, c.column_name,
    case when c.column_name = 'reports_to' then 'agent' else substring(c.column_name from '(agent|project|goal|issue)_id$') end as kind
  from information_schema.columns c join pg_class k on k.relname = c.table_name and k.relkind in ('r', 'p') and not k.relispartition
  where c.table_schema = 'public' and c.data_type = 'uuid'
    and c.column_name ~ '(agent|project|goal|issue)_id$|^reports_to$' and c.column_name not in ('parent_issue_id', 'parent_goal_id')
    and (c.is_nullable = 'YES' or c.table_name = 'chats')`;

async function pointAllTo(targets: Record<Kind, string>): Promise<void> {
  const { pool } = app.database;
  const { rows: found } = await pool.query<{ table_name: string; column_name: string; kind: Kind }>(
    REFERENCES,
  );
  expect(found.length).toBeGreaterThan(40);
  for (const { table_name, column_name, kind } of found) {
    const others = table_name === `${kind}s` ? 'id <> $1' : 'true';
    await pool.query(`update ${table_name} set ${column_name} = $1 where ${others}`, [targets[kind]]);
  }
  await pool.query(`insert into compile_settings (company_id, agent_id) values ($1, $2)`, [
    cast.company_id,
    targets.agent,
  ]);
  await pool.query(`insert into mcp_server_agents (server_id, agent_id) select id, $1 from mcp_servers`, [
    targets.agent,
  ]);
  await pool.query(`update mcp_servers set restricted = true`);
}

it('names nothing that is in the trash', async () => {
  const targets = await createTargets();
  await pointAllTo(targets);
  const before = await placesNow(targets);
  expect(before).toEqual(
    expect.arrayContaining([
      'agents.get reports_to',
      'channels.get default_agent_id',
      'channels.list [] default_agent_id',
      'chats.get agent_id',
      'chats.list [] agent_id',
      'compiled-index.get settings agent_id',
      'issues.list [] assignee_agent_id',
      'issues.list [] goal_id',
      'mcp-servers.get agents [] agent_id',
      'runs.get issue_id',
      'runs.list [] issue_id',
      'workspaces.get project_id',
    ]),
  );
  for (const kind of kinds)
    await request(app.server).delete(`/api/${kind}s/${targets[kind]}`).set(cast.admin.headers).expect(204);
  expect(await placesNow(targets)).toEqual([]);
});
