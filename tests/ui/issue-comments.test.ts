/** The conversation on an issue: edited, deleted, reacted to, previewed; names in its texts are links. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAgent, createComment, createIssue, findIssue, systemActor } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let cast: Cast;
let database: Database;
let issue: { id: string; identifier: string };
let member: Browser;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
  member = Browser.of(app, cast.member);
  const director = systemActor('tests');
  issue = await transaction(database, async (tx) => {
    await createAgent(tx, director, cast.company_id, { name: 'Grace Hopper' });
    const made = await createIssue(tx, director, cast.company_id, { title: 'Talk about it' });
    const found = (await findIssue(tx, made.id))!;
    await createComment(tx, director, found, { body_markdown: 'By nobody here' });
    return found;
  });
});

const here = () => `/issues/${issue.id}`;
const commentIn = (location: string): string => /#comment-(.*)$/.exec(location)![1]!;

async function say(text: string, who = member): Promise<string> {
  const { headers } = await who.post(`${here()}/comments`, { body_markdown: text });
  return `${here()}/comments/${commentIn(headers.location!)}`;
}

describe('a comment', () => {
  it('is edited in place by its author, and shows what it said before', async () => {
    const path = await say('frist');
    const form = await member.get(`${path}/edit`, { 'HX-Request': 'true' });
    expect(form.text.trim()).toMatch(/^<form[\s\S]*Your comment[\s\S]*frist/);
    const other = await Browser.of(app, cast.admin).get(`${path}/edit`, { 'HX-Request': 'true' });
    expect(other.text).toContain('Text of the comment');
    expect((await member.post(`${path}/edit`, { body_markdown: '' })).status).toBe(400);
    const { headers } = await member.post(`${path}/edit`, { body_markdown: 'first' });
    expect(headers.location).toMatch(/#comment-/);
    expect((await member.get(here())).text).toContain(`href="${path}/versions">edited`);
    expect((await member.get(`${path}/versions`)).text).toContain('frist');
  });

  it('is deleted by its author or an admin, and by nobody else', async () => {
    const path = await say('a slip');
    const other = Browser.of(app, cast.viewer);
    expect((await other.post(`${path}/delete`)).status).toBe(403);
    expect((await member.get(here())).text).toContain(`action="${path}/delete"`);
    await Browser.of(app, cast.admin).post(`${path}/delete`);
    expect((await member.get(here())).text).not.toContain('a slip');
  });

  it('takes reactions, and gives them back', async () => {
    const path = await say('good news');
    await member.post(`${path}/reactions/rocket`);
    expect((await member.get(here())).text).toMatch(/aria-label="rocket, 1"\s+aria-pressed="true"/);
    await member.post(`${path}/reactions/rocket/remove`);
    expect((await member.get(here())).text).not.toContain('rocket, 1');
    expect((await member.post(`${path}/reactions/nonsense`)).status).toBe(404);
  });
});

describe('names in texts', () => {
  it('lead to issues and agents of the company; what names nothing stays text', async () => {
    const text = `See ${issue.identifier}, not UTF-8; ask @Grace-Hopper, not @nobody.`;
    const preview = await member.post(`/companies/${cast.company_id}/preview`, { body_markdown: text });
    const ref = `href="${here()}" title="Talk about it"`;
    expect(preview.text).toContain(ref);
    expect(preview.text).toMatch(/href="\/agents\/[^"]*">@Grace-Hopper</);
    expect(preview.text).toContain('not UTF-8; ask');
    expect(preview.text).toContain('not @nobody.');
    const told = await member.api('post', `/api/companies/${cast.company_id}/markdown`, {
      text: `**${issue.identifier}**`,
    });
    expect((told.body as { html: string }).html).toContain(ref);
  });

  it('are looked up in one statement, on pages that have some', async () => {
    await say(`again ${issue.identifier} and ${issue.identifier} and @Grace-Hopper`);
    const count = async (path: string): Promise<number> => {
      const before = database.statements();
      await member.get(path);
      return database.statements() - before;
    };
    const settings = await count(`/companies/${cast.company_id}/keys`);
    expect(settings).toBeLessThan(12);
    expect(await count(`${here()}/part/timeline`)).toBeLessThan(25);
  });
});
