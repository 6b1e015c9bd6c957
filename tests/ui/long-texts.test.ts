/** Pages of texts that take long to render: the initial output is bounded, and everything can be read. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Express } from 'express';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { startPages } from '../http/pages.ts';

const home = mkdtempSync(path.join(tmpdir(), 'acp-texts-'));
let app: Express;
let cast: Cast;
let issue: string;
beforeAll(async () => {
  const pages = await startPages({ SERVICE_HOME: home });
  ({ app } = pages);
  cast = await createCast(pages.database);
  issue = (await api(`/api/companies/${cast.company_id}/issues`, { title: 'Long' })).id;
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const api = async (at: string, body: object): Promise<{ id: string }> => {
  const sent = await request(app).post(at).set(cast.board_admin.headers).send(body);
  expect([at, sent.status]).toEqual([at, 201]);
  return sent.body as { id: string };
};
const get = async (at: string, headers = {}) =>
  request(app)
    .get(at)
    .set({ ...cast.member.headers, ...headers });
const marks = (number: number) => `Text ${number}\n${'- a\n'.repeat(45_000)}`;
const foldsOf = (page: string) => [...page.matchAll(/data-text="([^"]+)"/g)].map(([, at]) => at!);

describe('a page of long texts', () => {
  it('of 30 comments of list marks shows the short ones and folds the others, each on a page of its own', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 30; n += 1)
      ids.push((await api(`/api/issues/${issue}/comments`, { body_markdown: marks(n) })).id);
    await api(`/api/issues/${issue}/comments`, { body_markdown: 'a *short* one' });
    const page = await get(`/issues/${issue}`);
    expect(page.status).toBe(200);
    expect(page.text).toContain('<em>short</em>');
    expect(page.text.length).toBeLessThan(2_000_000);
    const folds = foldsOf(page.text);
    expect(folds).toHaveLength(30);
    expect(folds[0]).toBe(`/issues/${issue}/comments/${ids[0]}`);

    const fragment = await get(folds[0]!, { 'HX-Request': 'true' });
    // On a busy machine it may be shown unrendered.
    expect(fragment.text).toMatch(/^(?:<pre>|<div class="markdown"><p>)Text 0\s*(?:<|- a)/);
    expect((await get(folds[0]!)).text).toContain(`href="/issues/${issue}"`);
  });

  it('of more comments than a page holds shows the newest and leads to the earlier ones', async () => {
    const talk = await api(`/api/companies/${cast.company_id}/issues`, { title: 'Talk' });
    for (let n = 0; n < 102; n += 1)
      await api(`/api/issues/${talk.id}/comments`, { body_markdown: `word${n}.` });
    const { text } = await get(`/issues/${talk.id}`);
    expect([text.includes('word1.'), text.includes('word2.'), text.includes('word101.')]).toEqual([
      false,
      true,
      true,
    ]);
    // Of 100 on the page 12 are open; the activity before the first is one more stretch.
    expect(text).toMatch(/<summary>\s*Show earlier: 90\s*<\/summary>/);
    const earlier = /href="([^"]+\?before[^"]+)">Still earlier: 2</
      .exec(text)![1]!
      .replaceAll('&#61;', '=')
      .replaceAll('&#x3D;', '=');
    await request(app)
      .patch(`/api/issues/${talk.id}`)
      .set(cast.board_admin.headers)
      .send({ priority: 'critical' });
    const before = (await get(earlier)).text;
    const entries = before.match(/class="activity"[^]*?<\/li>/g)!;
    // Only what happened until then.
    expect(entries.join()).toContain('created the issue');
    expect(entries.join()).not.toContain('changed priority');
    expect([before.includes('word1.'), before.includes('word2.')]).toEqual([true, false]);
    expect(before).not.toContain('Show earlier');
    expect(before).toMatch(/part\/timeline\?seen[^"]+before/);
  });

  it('of a document shows the last revision and links to the earlier ones, whose texts it does not read', async () => {
    const at = `/api/issues/${issue}/documents/plan`;
    const put = async (text: string) => {
      const sent = await request(app)
        .put(at)
        .set(cast.board_admin.headers)
        .send({ title: 'Plan', body: text });
      expect(sent.status).toBeLessThan(300);
    };
    for (let n = 1; n <= 52; n += 1) await put(n === 51 ? marks(n) : `Text ${n}.`);
    const { text } = await get(`/issues/${issue}/documents/plan`);
    expect(text).toContain('<p>Text 52.</p>');
    const links = [...text.matchAll(/href="([^"]+)">Revision (\d+)</g)];
    expect(links.map(([, , number]) => Number(number))).toEqual(
      Array.from({ length: 50 }, (_each, n) => 51 - n),
    );
    expect([text.includes('Text 51'), text.includes('Text 50')]).toEqual([false, false]);
    expect((await get(links[0]![1]!)).text).toMatch(/(?:<pre>|<p>)Text 51\b/);
    const older = /href="([^"]+)">Older revisions/.exec(text)![1]!;
    const last = await get(older.replaceAll('&#61;', '='));
    expect([...last.text.matchAll(/>Revision (\d+)</g)].map(([, number]) => number)).toEqual(['1']);
    expect(last.text).not.toContain('Older revisions');
  });

  it('reports and comments on approvals are read alone too; nothing of another issue or company', async () => {
    const product = await api(`/api/issues/${issue}/work-products`, {
      title: 'Report',
      type: 'document',
      summary: '# Found',
    });
    expect((await get(`/work-products/${product.id}`)).text).toContain('<h1>Found</h1>');
    const approval = await api(`/api/companies/${cast.company_id}/approvals`, {
      type: 'action',
      title: 'May I?',
    });
    const comment = await api(`/api/approvals/${approval.id}/comments`, { body_markdown: '*why*' });
    const alone = `/approvals/${approval.id}/comments/${comment.id}`;
    expect((await get(alone)).text).toContain('<em>why</em>');
    const other = await api(`/api/companies/${cast.company_id}/issues`, { title: 'Other' });
    const strange = await api(`/api/issues/${issue}/comments`, { body_markdown: 'mine' });
    expect((await get(`/issues/${other.id}/comments/${strange.id}`)).status).toBe(404);
    const stranger = await request(app).get(alone).set(cast.stranger.headers);
    expect(stranger.status).toBe(404);
  });
});
