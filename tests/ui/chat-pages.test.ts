/** The pages of chats, as plain forms without script. */
import { beforeAll, expect, it } from '@jest/globals';
import { createAgent } from '@acp/testkit';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, type Pages, startPages } from '../http/pages.ts';

let pages: Pages;
let cast: Cast;

beforeAll(async () => {
  pages = await startPages();
  cast = await createCast(pages.database);
});

async function openChat(browser: Browser): Promise<{ path: string; agent_id: string }> {
  const { id: agent_id } = await createAgent(pages.database.db, { id: cast.company_id }, { name: 'Ada <b>' });
  const button = (await browser.get(`/agents/${agent_id}`)).text;
  expect(button).toContain(`action="/companies/${cast.company_id}/chats"`);
  const made = await browser.post(`/companies/${cast.company_id}/chats`, { agent_id });
  expect(made.status).toBe(303);
  return { path: made.headers.location!, agent_id };
}

it('a member opens a chat from the agent’s page, says something, renames it, finds it and deletes it', async () => {
  const member = Browser.of(pages.app, cast.member);
  const { path } = await openChat(member);
  const sent = await member.post(`${path}/messages`, {
    body_markdown: '**Hello** <script>alert(1)</script>',
  });
  expect([sent.status, sent.headers.location]).toEqual([303, path]);
  const { text } = await member.get(path);
  expect(text).toContain('<strong>Hello</strong>');
  expect(text).not.toContain('<script>alert');
  expect(text).not.toContain('Ada <b>');
  expect(text).toMatch(/data-follow="\/api\/chats\/[^"]+\/stream"/);
  expect((await member.post(`${path}/title`, { title: 'Greetings' })).status).toBe(303);
  const list = `/companies/${cast.company_id}/chats`;
  expect((await member.get(`${list}?q=greet`)).text).toContain('Greetings');
  expect((await member.get(`${list}?q=nothing`)).text).toContain('Nothing matches “nothing”');
  expect((await member.post(`${path}/delete`, {})).headers.location).toBe(list);
  expect((await member.get(path)).status).toBe(404);
});

it('a member sends a picture by the form, and sees it in the thread', async () => {
  const member = Browser.of(pages.app, cast.member);
  const { path } = await openChat(member);
  const sent = await request(pages.app)
    .post(`${path}/messages`)
    .set({ ...cast.member.headers, 'Sec-Fetch-Site': 'same-origin' })
    .attach('file', Buffer.from('no picture at all'), '<i>.png');
  expect([sent.status, sent.headers.location]).toEqual([303, path]);
  const { text } = await member.get(path);
  expect(text).toMatch(/<img src="\/api\/chats\/[^"]+\/download" alt="" loading="lazy"/);
  expect(text).toContain('&#60;i&#62;.png');
});

it('a message that can’t be sent comes back with the reason; a stopped one can be edited and sent again', async () => {
  const member = Browser.of(pages.app, cast.member);
  const { path, agent_id } = await openChat(member);
  await member.post(`${path}/messages`, { body_markdown: 'first words here' });
  await member.post(`${path}/stop`, {});
  const stopped = (await member.get(path)).text;
  const [, resend] = /action="([^"]+\/resend)"/.exec(stopped)!;
  expect(stopped).toContain('stopped');
  expect((await member.post(resend!, { body_markdown: 'other words here' })).status).toBe(303);
  expect((await member.get(path)).text).toContain('other words here');
  await member.post(`${path}/stop`, {});
  await Browser.of(pages.app, cast.admin).post(`/agents/${agent_id}/pause`, {});
  const refused = await member.post(`${path}/messages`, { body_markdown: 'more' });
  expect(refused.status).toBe(409);
  expect(refused.text).toContain('agent is paused');
});

it('a chat whose agent is in the trash is read and offers nothing that would be refused', async () => {
  const member = Browser.of(pages.app, cast.member);
  const { path, agent_id } = await openChat(member);
  await member.post(`${path}/messages`, { body_markdown: 'words to keep' });
  await member.post(`${path}/stop`, {});
  expect((await member.get(path)).text).toMatch(/\/resend"[^]*data-composer/);
  await Browser.of(pages.app, cast.admin).post(`/agents/${agent_id}/delete`, {});
  const { text } = await member.get(path);
  expect(text).toContain('words to keep');
  expect(text).toContain('the chat is read-only');
  expect(text).not.toMatch(/\/resend"|data-composer|<textarea/);
  expect(text).not.toContain('Say something');
  expect(text).not.toMatch(/href="\/agents\//);
});

it('the page of former messages leads back to the newest ones', async () => {
  const member = Browser.of(pages.app, cast.member);
  const { path } = await openChat(member);
  await member.post(`${path}/messages`, { body_markdown: 'Hello' });
  const newest = new RegExp(`<a href="${path}">Newest messages</a>`);
  expect((await member.get(path)).text).not.toMatch(newest);
  for (const part of ['', '/thread'])
    expect((await member.get(`${path}${part}?before=1`)).text).toMatch(newest);
});

it('a message becomes an issue whose text is there already, and nobody else sees the page of a chat', async () => {
  const member = Browser.of(pages.app, cast.member);
  const { path } = await openChat(member);
  await member.post(`${path}/messages`, { body_markdown: '# Paint the shed\nGreen.' });
  const [, id] = /id="m-([0-9a-f-]+)"/.exec((await member.get(path)).text)!;
  const form = (await member.get(`${path}/messages/${id}/issue`)).text;
  expect(form).toContain('value="Paint the shed"');
  expect(form).toContain('# Paint the shed\nGreen.');
  expect(form).toContain(`action="/companies/${cast.company_id}/issues/new"`);
  for (const person of [cast.admin, cast.instance_admin, cast.viewer]) {
    expect((await Browser.of(pages.app, person).get(path)).status).toBe(404);
    expect((await Browser.of(pages.app, person).get(`${path}/thread`)).status).toBe(404);
    expect((await Browser.of(pages.app, person).get(`${path}/messages/${id}/issue`)).status).toBe(404);
  }
});

it('a new chat is offered with agents by their names, not with the sub-agents that they spawned', async () => {
  const { db } = pages.database;
  const [zoe] = await Promise.all(
    ['Zoe', 'Abel'].map(async (name) => createAgent(db, { id: cast.company_id }, { name })),
  );
  const part = await createAgent(
    db,
    { id: cast.company_id },
    { name: 'Aaron / part 1', parent_agent_id: zoe!.id },
  );
  const list = `/companies/${cast.company_id}/chats`;
  const offered = async (path: string): Promise<string[]> => {
    const { text } = await Browser.of(pages.app, cast.member).get(path);
    const [choice] = /<select[^>]*name="agent_id"[^]*?<\/select>/.exec(text) ?? [''];
    return [...choice.matchAll(/<option[^>]*>([^<]*)</g)].map(([, name]) => name!.trim());
  };
  const names = await offered(list);
  expect(names.indexOf('Zoe')).toBeGreaterThan(names.indexOf('Abel'));
  expect(names).not.toContain('Aaron / part 1');
  // A user coming from an agent's page chats with that agent.
  const { text } = await Browser.of(pages.app, cast.member).get(`/agents/${part.id}`);
  expect(text).toContain(`name="agent_id" value="${part.id}"`);
});

it('what was refused is said in plain words, on whatever page of the chat', async () => {
  const member = Browser.of(pages.app, cast.member);
  const { path, agent_id } = await openChat(member);
  const rename = async () => (await member.post(`${path}/title`, { title: 'x'.repeat(501) })).text;
  const said = 'Title: Can have at most 500 characters.';
  expect(await rename()).toContain(said);
  const german = { 'Accept-Language': 'de' };
  const empty = (await member.post(`${path}/messages`, { body_markdown: '' }, german)).text;
  expect(empty).toMatch(/form-error[^<]*arf ohne Datei nicht leer sein/);
  await Browser.of(pages.app, cast.admin).post(`/agents/${agent_id}/delete`, {});
  expect(await rename()).toContain(said);
});

it('a message with a file may lose its text', async () => {
  const member = Browser.of(pages.app, cast.member);
  const { path } = await openChat(member);
  await request(pages.app)
    .post(`${path}/messages`)
    .set({ ...cast.member.headers, 'Sec-Fetch-Site': 'same-origin' })
    .field('body_markdown', 'look at this')
    .attach('file', Buffer.from('some words'), 'words.txt')
    .expect(303);
  await member.post(`${path}/stop`, {});
  const [, resend] = /action="([^"]+\/resend)"/.exec((await member.get(path)).text)!;
  expect((await member.post(resend!, { body_markdown: '' })).status).toBe(303);
  const { text } = await member.get(path);
  expect(text).toContain('words.txt');
  expect(text).not.toContain('look at this');
});
