/** What the pages of an agent and of a project say about their work. */
import { beforeAll, expect, it } from '@jest/globals';
import type { IssueStatus } from '@acp/contract';
import { createIssue, createProject, systemActor } from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let cast: Cast;
let database: Database;
let project_id: string;

const director = systemActor('tests');
const write = async (title: string, status: IssueStatus, of: object = {}) =>
  transaction(database, async (tx) =>
    createIssue(tx, director, cast.company_id, { title, status, project_id, ...of }),
  );

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
  ({ id: project_id } = await transaction(database, async (tx) =>
    createProject(tx, director, cast.company_id, { name: 'Spring sale' }),
  ));
});

it('an agent’s page shows its most urgent open issues, leads to all of them, and names the issue of each run', async () => {
  const viewer = Browser.of(app, cast.viewer);
  const here = `/agents/${cast.agent_id}`;
  const empty = (await viewer.get(here)).text;
  expect(empty).toContain('No open issues');
  // Only who may write one is led to writing one.
  expect(empty).not.toContain('issues/new');
  expect((await Browser.of(app, cast.member).get(here)).text).toContain('issues/new');
  const mine = { assignee_agent_id: cast.agent_id };
  for (const number of [1, 2, 3, 4, 5, 6, 7]) await write(`Bind volume ${number}`, 'todo', mine);
  const urgent = await write('Order paper', 'blocked', { ...mine, priority: 'critical' });
  const done = await write('Sweep the shop', 'done', mine);
  await database.db.insert(schema.heartbeat_runs).values({
    company_id: cast.company_id,
    agent_id: cast.agent_id,
    issue_id: done.id,
    status: 'succeeded',
    wake_reason: 'manual',
    adapter_type: 'llm',
  });
  const { text } = await viewer.get(here);
  const open = text.slice(text.indexOf('Open issues'), text.indexOf('<h2>Runs'));
  expect(open.match(/href="\/issues\//g)).toHaveLength(6);
  expect(open).toContain(urgent.title);
  expect(open).not.toContain('Bind volume 7');
  const [, all] = /href="([^"]+)"[^>]*>All 8 open issues/.exec(open)!;
  expect((await viewer.get(all!.replaceAll('&#61;', '=').replaceAll('&#38;', '&'))).text).toContain(
    '8 issues',
  );
  expect(text.slice(text.indexOf('<h2>Runs'))).toContain(`href="/issues/${done.id}"`);
  const part = async (name: string) =>
    (await viewer.get(`${here}/part/${name}`, { 'HX-Request': 'true' })).text;
  expect(await part('issues')).toContain(urgent.title);
  expect(await part('runs')).toContain(`href="/issues/${done.id}"`);
  expect(await part('state')).toMatch(/Spent today[\s\S]*This month/);
});

it('a project’s page says how far it is, and leads to its issues by status', async () => {
  const viewer = Browser.of(app, cast.viewer);
  const { id } = await transaction(database, async (tx) =>
    createProject(tx, director, cast.company_id, { name: 'Autumn sale' }),
  );
  const here = `/projects/${id}`;
  const empty = (await viewer.get(here)).text;
  expect(empty).toContain('No issues yet');
  expect(empty).not.toContain('issues/new');
  for (const status of ['done', 'done', 'in_progress', 'todo', 'cancelled'] as const)
    await write(`Now ${status}`, status, { project_id: id });
  const { text } = await viewer.get(`${here}/part/work`, { 'HX-Request': 'true' });
  expect(text).toMatch(/2 of 4 issues done[\s\S]*1 under way/);
  expect(text).toContain('class="meter"');
  const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, link]) =>
    link!.replaceAll('&#61;', '=').replaceAll('&#38;', '&'),
  );
  const list = `/companies/${cast.company_id}/issues`;
  expect(links).toContain(`${list}?status=done&project=${id}`);
  expect(links).toContain(`/companies/${cast.company_id}/board?project=${id}`);
  expect((await viewer.get(`${list}?status=done&project=${id}`)).text).toContain('2 issues');
});

it('a project of more issues than are counted says so, and no share of them', async () => {
  const { company_id } = cast;
  const [project] = await database.db
    .insert(schema.projects)
    .values({ company_id, name: 'Very large' })
    .returning();
  await database.pool.query(
    `insert into issues (company_id, project_id, title, identifier, issue_number, status)
      select $1, $2, 'One of many', 'MNY-' || n, 100000 + n, case when n > 10050 then 'todo' else 'done' end
      from generate_series(1, 10060) n`,
    [company_id, project!.id],
  );
  const { text } = await Browser.of(app, cast.viewer).get(`/projects/${project!.id}/part/work`);
  expect(text).toContain('more than 10,000 issues');
  const numbers = [...text.matchAll(/<span class="number">([^<]+)</g)].map(([, number]) => number);
  expect(numbers).toEqual(['10', '10,000+']);
  expect(text).not.toMatch(/10,?001|issues done/);
});
