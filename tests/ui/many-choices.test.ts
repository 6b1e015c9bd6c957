/** Fields that choose out of a company's own: a list while there are some dozens, a name that is typed if there are more. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createIssue, systemActor } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { type Cast, createCast } from '../http/cast.ts';
import { addNames } from '../http/many-names.ts';
import { Browser, startPages } from '../http/pages.ts';

let database: Database;
let cast: Cast;
let member: Browser;
let company: string;
let issue: string;

const director = systemActor('tests');
const made = async (title: string) =>
  transaction(database, async (tx) =>
    createIssue(tx, director, cast.company_id, { title, status: 'backlog' }),
  );

beforeAll(async () => {
  const pages = await startPages();
  ({ database } = pages);
  cast = await createCast(database);
  member = Browser.of(pages.app, cast.member);
  company = `/companies/${cast.company_id}`;
  issue = `/issues/${(await made('Bind the books')).id}`;
});

const stored = async () => (await member.api('get', `/api${issue}`)).body as Record<string, unknown>;
const idOf = async (table: string, name: string): Promise<string> => {
  const column = table === 'goals' ? 'title' : 'name';
  const { rows } = await database.pool.query<{ id: string }>(
    `select id from ${table} where company_id = $1 and ${column} = $2`,
    [cast.company_id, name],
  );
  return rows[0]!.id;
};
/** The field's tag, and what is said about it. */
const fieldIn = (text: string, id: string): string => {
  const at = text.search(new RegExp(`<(input|select)\\s+id="f-${id}"`));
  return text.slice(at, text.indexOf('</div>', at)).replaceAll(/\s+/g, ' ');
};

describe('a small company', () => {
  it('lists all there are', async () => {
    const page = await member.get(issue);
    for (const name of ['assignee_agent_id', 'project_id'])
      expect(fieldIn(page.text, name)).toMatch(/^<select/);
    expect(page.text).not.toContain('data-choices=');
    for (const path of ['/issues', '/board', '/issues/new', '/projects', '/goals'])
      expect((await member.get(company + path)).text).not.toMatch(/<input[^>]* data-choices=/);
  });
});

it('an inbox has one form for all times to put a row off, since it may have hundreds of rows', async () => {
  const { body } = await member.api('post', `/api${company}/issues`, { title: 'Oil the press' });
  const { text } = await member.get(`${company}/inbox`);
  expect(text.split(`action="/issues/${body.id}/snooze"`)).toHaveLength(2);
  await member.post(`/issues/${body.id}/snooze`, { minutes: '60' });
  expect((await member.get(`${company}/inbox`)).text).toMatch(/Snoozed[\s\S]*Oil the press/);
});

describe('a company with hundreds of agents and labels', () => {
  const pages = (): string[] => [
    issue,
    ...['properties', 'councils'].map((part) => `${issue}/part/${part}`),
    ...['/issues', '/board', '/issues/new', '/goals', '/projects'].map((path) => company + path),
  ];

  it('has pages that do not grow with their number', async () => {
    await addNames(database, cast.company_id, { agents: 60, projects: 60, goals: 60, labels: 60 });
    const sizes = async (): Promise<number[]> =>
      Promise.all(
        pages().map(async (path) => {
          const { status, text } = await member.get(path);
          expect(status).toBe(200);
          // Goals and projects are listed on their own pages; so much of them as there is.
          return text.replaceAll(/<ul class="tree">[\s\S]*<\/ul>|<tbody>[\s\S]*<\/tbody>/g, '').length;
        }),
      );
    const before = await sizes();
    await addNames(database, cast.company_id, { agents: 400, projects: 100, goals: 100, labels: 400 }, 101);
    const after = await sizes();
    expect(after.map((size, at) => Math.abs(size - before[at]!) < 500)).toEqual(before.map(() => true));
  });

  it('offers the names that fit, a few of them, to those who see the company', async () => {
    const names = async (kind: string, q: string, person = member): Promise<string[]> => {
      const { text } = await person.get(`${company}/names/part/${kind}?q=${encodeURIComponent(q)}`);
      return [...text.matchAll(/data-value="([^"]*)"/g)].map(([, name]) => name!);
    };
    const found = await names('agent', 'agent 45');
    expect(found.slice(0, 3)).toEqual(['Agent 45', 'Agent 450', 'Agent 451']);
    const labels = await names('label', 'LABEL 33');
    expect([labels[0], labels.at(-1), labels.length]).toEqual(['label 33', 'label 433', 14]);
    expect(await names('goal', '')).toHaveLength(20);
    expect(await names('project', 'nothing like it')).toEqual([]);
    expect((await member.get(`${company}/names/part/secret?q=a`)).status).toBe(404);
    const stranger = new Browser((await startPages()).app);
    expect((await stranger.get(`${company}/names/part/agent?q=a`)).status).not.toBe(200);
  });

  it('takes a name, in any case, and shows it', async () => {
    await member.post(`${issue}/properties`, { assignee_agent_id: ' agent 123 ' });
    await member.post(`${issue}/properties`, { project_id: 'Project 45' });
    await member.post(`${issue}/labels/add`, { label_id: 'Label 321' });
    expect(await stored()).toMatchObject({
      assignee_agent_id: await idOf('agents', 'Agent 123'),
      project_id: await idOf('projects', 'Project 45'),
      labels: [{ name: 'label 321' }],
    });
    const { text } = await member.get(issue);
    expect(fieldIn(text, 'assignee_agent_id')).toContain('value="Agent 123"');
    expect(fieldIn(text, 'project_id')).toContain('value="Project 45"');
    await member.post(`${issue}/properties`, { project_id: '' });
    await member.post(`${issue}/properties`, { assignee_agent_id: 'Nobody' });
    expect(await stored()).toMatchObject({ assignee_agent_id: null, project_id: null });
  });

  it('says that nothing is called that, names what is similar, keeps what was typed and changes nothing', async () => {
    const before = await stored();
    const refused = await member.post(`${issue}/properties`, { assignee_agent_id: 'Agnes' });
    expect(refused.status).toBe(400);
    const field = fieldIn(refused.text, 'assignee_agent_id');
    expect(field).toContain('value="Agnes"');
    expect(field).toContain('Nothing here is called “Agnes”.');
    const near = await member.post(`${issue}/labels/add`, { label_id: 'label 400' });
    expect(near.status).toBe(303);
    const close = await member.post(`${issue}/labels/add`, { label_id: 'abel 44' });
    expect(fieldIn(close.text, 'label_id')).toContain('Nothing here is called “abel 44”; there are label 44');
    const council = await member.post(`${issue}/convene-council`, { agent_ids: ['Agent 1', 'Agent 0', ''] });
    expect(council.status).toBe(400);
    expect(council.text).toContain('Nothing here is called “Agent 0”');
    expect(fieldIn(council.text, 'council-1')).toContain('value="Agent 1"');
    expect(fieldIn(council.text, 'council-2')).toContain('value="Agent 0"');
    expect({ ...(await stored()), labels: [], updated_at: '' }).toEqual({
      ...before,
      labels: [],
      updated_at: '',
    });
  });

  it('asks which one is meant if several have the name, and tells them apart', async () => {
    await addNames(database, cast.company_id, { agents: 1 }, 200);
    const refused = await member.post(`${company}/issues/new`, {
      title: 'Fold',
      assignee_agent_id: 'agent 200',
    });
    expect(refused.status).toBe(400);
    const [, one] =
      /Several are called “agent 200”: (Agent 200 \([\da-f]{8}\)), Agent 200 \([\da-f]{8}\)\./.exec(
        refused.text,
      )!;
    const done = await member.post(`${company}/issues/new`, { title: 'Fold', assignee_agent_id: one! });
    expect(done.status).toBe(303);
    const { text } = await member.get(done.headers.location!);
    expect(fieldIn(text, 'assignee_agent_id')).toContain(`value="${one}"`);
  });

  it('knows no name of another company', async () => {
    await addNames(database, cast.other_company_id, { agents: 1 }, 9001);
    const refused = await member.post(`${issue}/properties`, { assignee_agent_id: 'Agent 9001' });
    expect([refused.status, refused.text.includes('Nothing here is called “Agent 9001”.')]).toEqual([
      400,
      true,
    ]);
  });

  it('filters issues by name, and says so if there is none', async () => {
    const other = await made('Order paper');
    await member.post(`/issues/${other.id}/properties`, { assignee_agent_id: 'Agent 7' });
    for (const path of ['/issues', '/board']) {
      const found = await member.get(`${company}${path}?assignee=agent+7&project=&label=`);
      expect([found.text.includes('Order paper'), found.text.includes('Bind the books')]).toEqual([
        true,
        false,
      ]);
      expect(fieldIn(found.text, 'assignee')).toContain('value="Agent 7"');
      // Remembered by its id, whatever it is called then.
      expect((await member.get(company + path)).text).not.toContain('Bind the books');
      const unassigned = await member.get(`${company}${path}?assignee=nobody`);
      expect(unassigned.text).not.toContain('Order paper');
      expect(fieldIn(unassigned.text, 'assignee')).toContain('value="nobody"');
      const unknown = await member.get(`${company}${path}?label=glue`);
      expect(unknown.status).toBe(200);
      expect(fieldIn(unknown.text, 'label')).toContain('value="glue"');
      expect(fieldIn(unknown.text, 'label')).toContain('Nothing here is called “glue”.');
    }
  });

  it('changes many issues by name', async () => {
    const { id } = await made('Sweep the shop');
    const change = async (values: Record<string, string>) =>
      member.post(`${company}/issues/changes`, { issue: id, ...values });
    const refused = await change({ assignee_agent_id: 'Agent 8', add_label: 'glue' });
    expect([refused.status, fieldIn(refused.text, 'bulk-add_label').includes('“glue”')]).toEqual([400, true]);
    await change({ assignee_agent_id: 'Agent 8', project_id: 'project 9', add_label: 'label 10' });
    const read = async () => (await member.api('get', `/api/issues/${id}`)).body as object;
    expect(await read()).toMatchObject({
      assignee_agent_id: await idOf('agents', 'Agent 8'),
      project_id: await idOf('projects', 'Project 9'),
      labels: [{ name: 'label 10' }],
    });
    await change({ assignee_agent_id: 'nobody', remove_label: 'label 10' });
    expect(await read()).toMatchObject({
      assignee_agent_id: null,
      project_id: await idOf('projects', 'Project 9'),
      labels: [],
    });
  });
});
