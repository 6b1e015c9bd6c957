/** The forms of projects, goals, notes and skills. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let cast: Cast;
let database: Database;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
});

const list = (section: string) => `/companies/${cast.company_id}/${section}`;
const pathOf = (location: string) => location.split('?')[0]!;

describe.each([
  [
    'projects',
    { name: 'Autumn sale', description: '**All** of it', status: 'active' },
    { name: 'Winter sale', status: 'paused', description: '' },
    { name: '' },
  ],
  [
    'goals',
    { title: 'Autumn sale', description: '**All** of it', level: 'team' },
    { title: 'Winter sale', status: 'achieved', description: '' },
    { title: '' },
  ],
  [
    'notes',
    { title: 'Autumn sale', body_markdown: '**All** of it', kind: 'finding', tags: 'sale, autumn' },
    { title: 'Winter sale', body_markdown: '', tags: '' },
    { title: '' },
  ],
] as const)('%s', (section, fields, changed, wrong) => {
  it('are made by a member, shown with their Markdown, changed, and moved to the trash', async () => {
    const member = Browser.of(app, cast.member);
    const made = await member.post(list(section), fields);
    expect(made.status).toBe(303);
    const here = pathOf(made.headers.location!);
    const page = await member.get(made.headers.location!);
    expect(page.text).toContain('<h1>Autumn sale</h1>');
    expect(page.text).toContain('<strong>All</strong> of it');
    expect((await member.get(list(section))).text).toContain('Autumn sale');
    expect((await member.post(here, changed)).status).toBe(303);
    expect((await member.get(here)).text).toContain('<h1>Winter sale</h1>');
    const gone = await member.post(`${here}/delete`);
    expect(gone.headers.location).toBe(`${list(section)}?done=deleted`);
    expect((await member.get(here)).status).toBe(404);
  });

  it('are refused beside the field that is wrong, with what was typed', async () => {
    const refused = await Browser.of(app, cast.member).post(list(section), { ...fields, ...wrong });
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/class="error" id="e-(?:name|title)"/);
    expect(refused.text).toContain('**All** of it');
  });

  it('show a viewer no forms', async () => {
    const { text } = await Browser.of(app, cast.viewer).get(list(section));
    expect(text).not.toContain('<form class="card"');
  });
});

describe('notes', () => {
  it('are found by their words, archived, and brought back', async () => {
    const member = Browser.of(app, cast.member);
    const { headers } = await member.post(list('notes'), {
      title: 'Bookbinding',
      body_markdown: 'Use linen thread.',
    });
    const here = pathOf(headers.location!);
    expect((await member.get(`${list('notes')}?q=thread`)).text).toContain('Bookbinding');
    expect((await member.get(`${list('notes')}?q=nothing+like+it`)).text).toContain(
      'Nothing matches “nothing like it”',
    );
    await member.post(`${here}/archive`);
    expect((await member.get(list('notes'))).text).not.toContain('Bookbinding');
    expect((await member.get(`${list('notes')}?archived=yes`)).text).toContain('Bookbinding');
    await member.post(`${here}/unarchive`);
    expect((await member.get(list('notes'))).text).toContain('Bookbinding');
  });
});

describe('goals', () => {
  it('stand below what they are part of, and cannot close a circle', async () => {
    const member = Browser.of(app, cast.member);
    const above = await member.post(list('goals'), { title: 'Thrive' });
    const parent = pathOf(above.headers.location!).split('/').at(-1)!;
    const below = await member.post(list('goals'), { title: 'Sell more', parent_goal_id: parent });
    const child = pathOf(below.headers.location!).split('/').at(-1)!;
    expect((await member.get(`/goals/${parent}`)).text).toMatch(/Parts[\s\S]*Sell more/);
    const circle = await member.post(`/goals/${parent}`, { title: 'Thrive', parent_goal_id: child });
    expect(circle.status).toBe(400);
    expect(circle.text).toMatch(/id="e-parent_goal_id"/);
  });
});

describe('skills', () => {
  const content = '---\nname: Binding\ndescription: How books are bound.\n---\n# Steps\n';

  it('are added by their SKILL.md, changed and deleted; what is none is refused beside it', async () => {
    const member = Browser.of(app, cast.member);
    const refused = await member.post(list('skills'), { content: 'no front matter' });
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/id="e-content"[^>]*>[^<]*front matter/);
    const made = await member.post(list('skills'), { content, company_wide: 'on' });
    const here = pathOf(made.headers.location!);
    const page = await member.get(here);
    expect(page.text).toContain('<h1>Binding</h1>');
    expect(page.text).toContain('version 1');
    const again = await member.post(list('skills'), { content, company_wide: '' });
    expect([again.status, /id="e-slug"/.test(again.text)]).toEqual([409, true]);
    await member.post(here, {
      name: 'Binding',
      description: 'How all books are bound.',
      body_markdown: '# Other steps',
      company_wide: '',
      enabled: '',
    });
    const changed = (await member.get(here)).text;
    expect(changed).toContain('version 2');
    expect(changed).toContain('disabled');
    expect((await member.post(`${here}/delete`)).status).toBe(303);
    expect((await member.get(here)).status).toBe(404);
  });
});

describe('the profile', () => {
  it('shows a user what agents have written down of him or her, and nobody else', async () => {
    const member = Browser.of(app, cast.member);
    expect((await member.get('/profile')).text).not.toContain('What agents have noted');
    await database.pool.query(
      `insert into user_models (company_id, user_id, body_markdown, private_markdown, updated_by_agent_id)
        values ($1, $2, $3, $4, $5)`,
      [cast.company_id, cast.member.user_id, 'Likes **short** answers.', 'Seeks a *raise*.', cast.agent_id],
    );
    const { text } = await member.get('/profile');
    expect(text).toContain('Likes <strong>short</strong> answers.');
    expect(text).toMatch(/In your chats[\s\S]+Seeks a <em>raise<\/em>\./);
    expect((await Browser.of(app, cast.viewer).get('/profile')).text).not.toMatch(/short|raise/);
  });
});
