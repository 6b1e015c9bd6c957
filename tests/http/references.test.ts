/** References between entities (decisions 10.6): a trashed target reads as null, and what was read can be written back. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { DEEPEST } from '@acp/core';
import { type Database, schema } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { createAgent, databaseWithQueue, waitFor } from '@acp/testkit';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { type Cast, createCast } from './cast.ts';

type Thing = Record<string, unknown> & { id: string };

let database: Database;
let app: Express;
let cast: Cast;
let company: string;

beforeAll(async () => {
  database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  app = createApp({
    database,
    logger,
    config: loadConfig({ RATE_LIMIT_RPM: '0' }),
    validate_responses: true,
  });
  cast = await createCast(database);
  company = `/api/companies/${cast.company_id}`;
});

async function api<T = Thing>(
  method: 'get' | 'post' | 'patch' | 'delete',
  path: string,
  body?: object,
  who = cast.admin,
): Promise<T> {
  const sent = request(app)[method](path).set(who.headers);
  const { status, body: answer } = await (body === undefined ? sent : sent.send(body));
  expect([path, status, status < 300 ? null : answer]).toEqual([path, expect.any(Number), null]);
  return answer as T;
}
const create = async (what: string, body: object) => api('post', `${company}/${what}`, body);

async function restore(entity_id: string): Promise<void> {
  const entries = await api<{ entity_id: string; trash_id: string; type: string }[]>(
    'get',
    '/api/admin/trash',
    undefined,
    cast.instance_admin,
  );
  const { type, trash_id } = entries.find((entry) => entry.entity_id === entity_id)!;
  await api(
    'post',
    `/api/admin/trash/${type}/${entity_id}/${trash_id}/restore`,
    undefined,
    cast.instance_admin,
  );
}

describe('what refers to things in the trash', () => {
  it('names them by null, in lists and alone, takes back what it said, and names them again when they are restored', async () => {
    const agent = await createAgent(database.db, { id: cast.company_id });
    const project = await create('projects', { name: 'Site' });
    const goal = await create('goals', { title: 'Grow' });
    const target = await create('issues', { title: 'Noted' });
    const [assignee_agent_id, project_id, goal_id] = [agent.id, project.id, goal.id];
    const referring = [
      { list: 'issues', names: { assignee_agent_id, project_id, goal_id }, other: { title: 'Build' } },
      { list: 'routines', names: { assignee_agent_id, project_id, goal_id }, other: { name: 'Daily' } },
      { list: 'projects', names: { goal_id, lead_agent_id: agent.id }, other: { name: 'Led' } },
      { list: 'goals', names: { owner_agent_id: agent.id }, other: { title: 'Owned' } },
      { list: 'notes', names: { issue_id: target.id }, other: { title: 'Thought' } },
    ];
    const made = [];
    for (const { list, names, other } of referring)
      made.push({ list, names, thing: await create(list, { ...other, ...names }) });
    await api('delete', `/api/agents/${agent.id}`);
    await api('delete', `/api/projects/${project.id}`);
    await api('delete', `/api/goals/${goal.id}`);
    await api('delete', `/api/issues/${target.id}`);

    for (const { list, names, thing } of made) {
      const nothing = Object.fromEntries(Object.keys(names).map((name) => [name, null]));
      const path = `/api/${list}/${thing.id}`;
      expect([list, await api('get', path)]).toEqual([list, expect.objectContaining(nothing)]);
      const listed = await api<Thing[]>('get', `${company}/${list}`);
      expect(listed).toContainEqual(expect.objectContaining({ id: thing.id, ...nothing }));
      // Read before the deletion, and after it.
      expect([list, await api('patch', path, names)]).toEqual([list, expect.objectContaining(nothing)]);
      expect(await api('patch', path, nothing)).toMatchObject(nothing);
    }
    for (const { id } of [agent, project, goal, target]) await restore(id);
    for (const { list, names, thing } of made)
      expect([list, await api('get', `/api/${list}/${thing.id}`)]).toEqual([
        list,
        expect.objectContaining(names),
      ]);
  });

  it('keeps an agent’s access to an MCP server whose list of agents is changed meanwhile, and is emptied by null', async () => {
    const [gone, kept] = [
      await createAgent(database.db, { id: cast.company_id }),
      await createAgent(database.db, { id: cast.company_id }),
    ];
    const access = (agent: { id: string }, tools: string[] | null = null) => ({ agent_id: agent.id, tools });
    const server = await create('mcp-servers', {
      name: 'tracker',
      url: 'https://tracker.example.com/mcp',
      agents: [access(gone, ['count']), access(kept)],
    });
    const path = `/api/mcp-servers/${server.id}`;
    await api('delete', `/api/agents/${gone.id}`);
    expect(await api('patch', path, { agents: [access(kept, ['close'])] })).toMatchObject({
      agents: [access(kept, ['close'])],
    });
    await restore(gone.id);
    const { agents } = await api<Thing & { agents: object[] }>('get', path);
    expect(agents).toHaveLength(2);
    expect(agents).toEqual(expect.arrayContaining([access(gone, ['count']), access(kept, ['close'])]));

    await api('delete', `/api/agents/${gone.id}`);
    await api('patch', path, { agents: null });
    await api('patch', path, { agents: [access(kept)] });
    await restore(gone.id);
    expect(await api('get', path)).toMatchObject({ agents: [access(kept)] });
  });

  it('takes no other id of what is in the trash', async () => {
    const project = await create('projects', { name: 'Gone' });
    const issue = await create('issues', { title: 'Elsewhere' });
    await api('delete', `/api/projects/${project.id}`);
    const sent = request(app).patch(`/api/issues/${issue.id}`).set(cast.admin.headers);
    await sent.send({ project_id: project.id }).expect(400, { error: 'project_id: unknown project' });
  });
});

it('an id in capitals is the same id: who sends back the assignee of an issue changes nothing', async () => {
  const agent = await createAgent(database.db, { id: cast.company_id });
  const issue = await create('issues', { title: 'Mine', assignee_agent_id: agent.id });
  const change = { assignee_agent_id: agent.id.toUpperCase() };
  expect(await api('patch', `/api/issues/${issue.id}`, change)).toEqual(issue);
  const found = await api<Thing[]>('get', `${company}/issues?assigneeAgentId=${change.assignee_agent_id}`);
  expect(found.map(({ id }) => id)).toEqual([issue.id]);
});

describe.each([
  ['issues', 'parent_issue_id'],
  ['goals', 'parent_goal_id'],
])('%s', (list, parent) => {
  it('lie under each other so deep and no deeper; the deepest goes with its root and comes back', async () => {
    const chain: Thing[] = [];
    for (let level = 1; level <= DEEPEST; level += 1)
      chain.push(await create(list, { title: `Level ${level}`, [parent]: chain.at(-1)?.id }));
    const deepest = chain.at(-1)!;
    const sent = request(app).post(`${company}/${list}`).set(cast.admin.headers);
    await sent
      .send({ title: 'Too deep', [parent]: deepest.id })
      .expect(400, { error: `${parent}: at most ${DEEPEST} levels` });
    await api('delete', `/api/${list}/${chain[0]!.id}`);
    await request(app).get(`/api/${list}/${deepest.id}`).set(cast.admin.headers).expect(404);
    await restore(chain[0]!.id);
    await api('get', `/api/${list}/${deepest.id}`);
    if (list !== 'goals') return;
    const above = await create(list, { title: 'Above all' });
    const moved = request(app).patch(`/api/goals/${chain[0]!.id}`).set(cast.admin.headers);
    await moved
      .send({ parent_goal_id: above.id })
      .expect(400, { error: `parent_goal_id: at most ${DEEPEST} levels` });
    await api('patch', `/api/goals/${chain[1]!.id}`, { parent_goal_id: above.id });
  });
});

it('a label that is being deleted while an issue takes it is not found', async () => {
  const issue = await create('issues', { title: 'To be labelled' });
  const label = await create('labels', { name: 'Passing' });
  const deleting = await database.pool.connect();
  try {
    await deleting.query('begin');
    await deleting.query('delete from labels where id = $1', [label.id]);
    const adding = request(app)
      .post(`/api/issues/${issue.id}/labels/${label.id}`)
      .set(cast.member.headers)
      .then(({ status, body }) => ({ status, body: body as unknown }));
    await waitFor(async () => {
      const { rowCount } = await database.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%issue_labels%'`,
      );
      return (rowCount ?? 0) > 0;
    });
    await deleting.query('commit');
    expect(await adding).toEqual({ status: 404, body: { error: 'not found' } });
  } finally {
    deleting.release();
  }
});

it('a transcript of long entries ends at a few megabytes; the rest comes after its last one', async () => {
  const [run] = await database.db
    .insert(schema.heartbeat_runs)
    .values({
      company_id: cast.company_id,
      agent_id: cast.agent_id,
      wake_reason: 'manual',
      adapter_type: 'llm',
    })
    .returning();
  const text = 'x'.repeat(500_000);
  await database.db.insert(schema.run_events).values(
    Array.from({ length: 20 }, (_, index) => ({
      run_id: run!.id,
      part: run!.transcript_part,
      seq: index + 1,
      kind: 'output',
      payload: { text },
    })),
  );
  const read = async (after: number) =>
    api<{ seq: number }[]>('get', `/api/runs/${run!.id}/events?after=${after}&limit=1000`);
  const seen: number[] = [];
  for (let page = await read(0); page.length > 0; page = await read(seen.at(-1)!)) {
    expect(JSON.stringify(page).length).toBeLessThan(6_000_000);
    seen.push(...page.map(({ seq }) => seq));
  }
  expect(seen).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});
