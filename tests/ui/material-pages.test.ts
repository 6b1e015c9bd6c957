/** What the forms beside an issue's conversation do. */
import { mkdtempSync, rmSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { startPages } from '../http/pages.ts';

const home = mkdtempSync(path.join(tmpdir(), 'acp-material-'));
let app: Express;
let cast: Cast;
let issue: string;
let other: string;
beforeAll(async () => {
  const pages = await startPages({
    SERVICE_HOME: home,
    SERVICE_MAX_UPLOAD_SIZE: '20000',
  });
  ({ app } = pages);
  cast = await createCast(pages.database);
  const create = async (title: string): Promise<string> => {
    const sent = request(app).post(`/api/companies/${cast.company_id}/issues`).set(cast.board_admin.headers);
    return ((await sent.send({ title })).body as { id: string }).id;
  };
  [issue, other] = [await create('Sell more'), await create('Print more')];
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const headers = () => ({ ...cast.member.headers, 'Sec-Fetch-Site': 'same-origin' });
const get = async (at: string) => (await request(app).get(at).set(headers())).text;
const post = async (at: string, fields: Record<string, string> = {}) =>
  request(app).post(at).type('form').set(headers()).send(new URLSearchParams(fields).toString());
const material = () => `/issues/${issue}/material`;

describe('an upload that fails', () => {
  it('leaves its sender on the page, told of the reason and with what was typed', async () => {
    const large = Buffer.alloc(30_000, 'x');
    const agent = `/agents/${cast.agent_id}/files`;
    for (const [at, part] of [
      [`/issues/${issue}/attachments`, /<h2>Files<\/h2>/],
      [agent, /name="path"[^>]+value="data\/&(?:quot|#34);typed/],
    ] as const) {
      const sent = request(app).post(at).set(headers());
      const answer = await sent.field('path', 'data/"typed".csv').attach('file', large, 'large.txt');
      expect([at, answer.status]).toEqual([at, 413]);
      expect(answer.text).toMatch(/class="error form-error"[^>]*>[^<]*too large/);
      expect(answer.text).toMatch(part);
    }
  });

  it('for the storage is away: the same', async () => {
    await rename(path.join(home, 'storage'), path.join(home, 'away'));
    await writeFile(path.join(home, 'storage'), 'no folder');
    try {
      const sent = request(app).post(`/issues/${issue}/attachments`).set(headers());
      const answer = await sent.attach('file', Buffer.from('one'), 'a.txt');
      expect(answer.status).toBe(503);
      expect(answer.text).toMatch(/class="error form-error"[^>]*>[^<]*storage unavailable/);
    } finally {
      await rm(path.join(home, 'storage'));
      await rename(path.join(home, 'away'), path.join(home, 'storage'));
    }
  });
});

describe('the material of an issue', () => {
  it('takes a label of the company, a new one too, and lets go of it', async () => {
    const made = await post(`/companies/${cast.company_id}/labels?issue=${issue}`, { name: 'urgent' });
    expect(made.headers.location).toBe(material());
    const add = /action="([^"]+\/labels\/[^"]+\/add)"/.exec(await get(material()))![1]!;
    expect((await post(add)).headers.location).toBe(material());
    const text = await get(material());
    const remove = /action="([^"]+\/labels\/[^"]+\/remove)"/.exec(text)![1]!;
    expect(await get(`/issues/${issue}`)).toContain('>urgent<');
    await post(remove);
    expect(await get(`/issues/${issue}`)).not.toContain('>urgent<');
  });

  it('is tied to another issue and untied again; a circle is refused', async () => {
    const fields = { relation_type: 'blocks', target_issue_id: other };
    expect((await post(`/issues/${issue}/relations`, fields)).status).toBe(303);
    expect(await get(`/issues/${other}/material`)).toContain('is blocked by');
    const circle = await post(`/issues/${other}/relations`, {
      relation_type: 'blocks',
      target_issue_id: issue,
    });
    expect([circle.status, circle.text]).toEqual([400, expect.stringContaining('class="error form-error"')]);
    const remove = /action="(\/issue-relations\/[^"]+)"/.exec(await get(material()))![1]!;
    expect((await post(remove)).status).toBe(303);
    expect(await get(`/issues/${other}/material`)).not.toContain('is blocked by');
  });

  it('takes files, gives them back, and deletes them', async () => {
    const sent = request(app).post(`/issues/${issue}/attachments`).set(headers());
    const uploaded = await sent
      .attach('file', Buffer.from('one'), 'a.txt')
      .attach('file', Buffer.from('two'), 'b.txt');
    expect(uploaded.headers.location).toBe(material());
    const text = await get(material());
    const link = /href="(\/api\/attachments\/[^"]+\/download)"[^>]*>\s*a\.txt/.exec(text)![1]!;
    expect((await request(app).get(link).set(headers())).text).toBe('one');
    for (const [, remove] of text.matchAll(/action="(\/attachments\/[^"]+\/delete)"/g)) await post(remove!);
    expect(await get(material())).not.toContain('a.txt');
  });

  it('has documents: written, changed, and an earlier text brought back', async () => {
    const made = await post(`/issues/${issue}/documents`, { title: 'The Plan', body: 'First.' });
    const here = made.headers.location!;
    expect(here).toBe(`/issues/${issue}/documents/the-plan`);
    await post(here, { title: 'The Plan', body: 'Second.' });
    const text = await get(here);
    expect(text).toContain('<p>Second.</p>');
    const restore = /action="([^"]+\/restore)"/.exec(text)![1]!.replaceAll('&#45;', '-');
    expect((await post(restore)).headers.location).toBe(here);
    expect(/<article class="card">[\s\S]*?<\/article>/.exec(await get(here))![0]).toContain('First.');
    expect((await post(`/issues/${issue}/documents`, { title: '???', body: '' })).status).toBe(400);
  });
});
