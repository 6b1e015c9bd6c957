/** Fields that choose out of a company's own: a list while there are some dozens, a name that is typed if there are more. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createIssue, systemActor } from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { eq } from 'drizzle-orm';
import { type Cast, createCast } from '../http/cast.ts';
import { addNames } from '../http/many-names.ts';
import { Browser, startPages } from '../http/pages.ts';

let database: Database;
let cast: Cast;
let member: Browser;
let admin: Browser;
let company: string;
let issue: string;
/** An MCP server, and a channel. */
let server: string;
let channel: string;

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
  admin = Browser.of(pages.app, cast.admin);
  company = `/companies/${cast.company_id}`;
  issue = `/issues/${(await made('Bind the books')).id}`;
  const { company_id } = cast;
  await database.db.insert(schema.secrets).values({ company_id, name: 'BOT', sealed: 'never opened' });
  const bot = { name: 'bot', kind: 'telegram', bot_token: '${secret:BOT}' };
  channel = `/channels/${(await admin.api('post', `/api${company}/channels`, bot)).body.id}`;
  const tracker = { company_id, name: 'tracker', url: 'https://tracker.example/mcp' };
  const [row] = await database.db.insert(schema.mcp_servers).values(tracker).returning();
  server = `/mcp-servers/${row!.id}`;
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

/** Pages of admins that choose an agent, and the fields. */
const choosing = (): [path: string, field: string][] => [
  [`${company}/chats`, 'agent_id'],
  [`${company}/budgets`, 'agent_id'],
  [`${company}/budgets`, 'project_id'],
  [`${company}/knowledge/index`, 'agent_id'],
  [`${company}/channels`, 'default_agent_id'],
  [channel, 'default_agent_id'],
];

describe('a small company', () => {
  it('lists all there are', async () => {
    const page = await member.get(issue);
    for (const name of ['assignee_agent_id', 'project_id'])
      expect(fieldIn(page.text, name)).toMatch(/^<select/);
    expect(page.text).not.toContain('data-choices=');
    for (const path of ['/issues', '/board', '/issues/new', '/projects', '/goals'])
      expect((await member.get(company + path)).text).not.toMatch(/<input[^>]* data-choices=/);
    for (const [path, field] of choosing()) {
      const { text } = await admin.get(path);
      expect([path, fieldIn(text, field)]).toEqual([path, expect.stringMatching(/^<select/)]);
    }
    expect((await admin.get(server)).text).toMatch(/<input type="checkbox" name="agent_ids"/);
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
        [...pages(), ...choosing().map(([path]) => path), server].map(async (path) => {
          const { status, text } = await admin.get(path);
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

  it('takes the name of an agent wherever one is chosen', async () => {
    const [first, second] = [await idOf('agents', 'Agent 123'), await idOf('agents', 'Agent 124')];
    const save = async (path: string, form: Record<string, string | readonly string[]>) => {
      const { status, text } = await admin.post(path, form);
      expect([path, status, text.match(/class="[^"]*error[^>]*>([^<]*)/)?.[1]]).toEqual([
        path,
        303,
        undefined,
      ]);
    };
    await save(`${company}/chats`, { agent_id: 'agent 123' });
    const { body: chats } = await admin.api('get', `/api${company}/chats`);
    expect(chats).toMatchObject([{ agent_id: first }]);
    const limits = { limit_usd: '5', window: 'month', warn_percent: '80', at_limit: 'pause', enabled: 'on' };
    await save(`${company}/budgets`, { ...limits, agent_id: 'Agent 123', project_id: '' });
    await save(`${company}/budgets`, { ...limits, agent_id: '', project_id: 'Project 45' });
    await save(`${company}/budgets`, { ...limits, agent_id: '', project_id: '' });
    const policies = await database.db
      .select({ scope: schema.budget_policies.scope_type, id: schema.budget_policies.scope_id })
      .from(schema.budget_policies)
      .where(eq(schema.budget_policies.company_id, cast.company_id));
    expect(new Map(policies.map(({ scope, id }) => [scope, id]))).toEqual(
      new Map([
        ['agent', first],
        ['project', await idOf('projects', 'Project 45')],
        ['company', cast.company_id],
      ]),
    );
    await save(`${company}/knowledge/index/settings`, { agent_id: 'Agent 124', every_hours: '' });
    expect(fieldIn((await admin.get(`${company}/knowledge/index`)).text, 'agent_id')).toContain(
      '"Agent 124"',
    );
    await save(channel, { name: 'bot', bot_token: 'BOT', default_agent_id: 'Agent 124', groups: '' });
    expect(fieldIn((await admin.get(channel)).text, 'default_agent_id')).toContain('"Agent 124"');
    await save(channel, { name: 'bot', bot_token: 'BOT', default_agent_id: '', groups: '' });
    expect((await admin.api('get', `/api${channel}`)).body).toMatchObject({ default_agent_id: null });
    for (const named of [
      ['', 'Agent 123'],
      ['', first, 'Agent 124'],
      ['', first, second, 'agent 123'],
    ])
      await save(`${server}/agents`, { all: '', agent_ids: named });
    const { body: tracker } = await admin.api('get', `/api${server}`);
    const having = (tracker as { agents: { agent_id: string }[] }).agents.map(({ agent_id }) => agent_id);
    expect(having.toSorted()).toEqual([first, second].toSorted());
    expect((await admin.get(server)).text.match(/checkbox" name="agent_ids"/g)).toHaveLength(2);
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
    const crowd = Array.from({ length: 101 }, () => 'Agent 1');
    const many = await member.post(`${issue}/convene-council`, { agent_ids: crowd });
    expect([many.status, many.text.includes('At most 100 can be named at once.')]).toEqual([400, true]);
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
