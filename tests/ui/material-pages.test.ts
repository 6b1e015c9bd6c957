/** The forms next to an issue's conversation. */
import { mkdtempSync, rmSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createIssue, createWorkProduct, findIssue, putDocument, systemActor } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { startPages } from '../http/pages.ts';

const home = mkdtempSync(path.join(tmpdir(), 'acp-material-'));
let app: Express;
let cast: Cast;
let database: Database;
let issue: string;
let other: string;
/** An id of another company. */
let foreign: string;
beforeAll(async () => {
  const pages = await startPages({
    SERVICE_HOME: home,
    SERVICE_MAX_UPLOAD_SIZE: '20000',
  });
  ({ app, database } = pages);
  cast = await createCast(pages.database);
  const create = async (title: string, company_id = cast.company_id): Promise<string> => {
    const who = company_id === cast.company_id ? cast.board_admin : cast.foreign_board;
    const sent = request(app).post(`/api/companies/${company_id}/issues`).set(who.headers);
    return ((await sent.send({ title })).body as { id: string }).id;
  };
  [issue, other] = [await create('Sell more'), await create('Print more')];
  foreign = await create('Not yours', cast.other_company_id);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const headers = () => ({ ...cast.member.headers, 'Sec-Fetch-Site': 'same-origin' });
const get = async (at: string) => (await request(app).get(at).set(headers())).text;
const post = async (at: string, fields: Record<string, string> = {}) =>
  request(app).post(at).type('form').set(headers()).send(new URLSearchParams(fields).toString());
const material = () => `/issues/${issue}/material`;

it('lists all the material of an issue page by page, however much there is to read', async () => {
  const { id } = await transaction(database, async (tx) => {
    const made = await createIssue(tx, systemActor('tests'), cast.company_id, { title: 'Much material' });
    const row = (await findIssue(tx, made.id))!;
    for (let at = 10; at < 62; at += 1) {
      const title = `Text ${at}`;
      const body = at % 10 === 0 ? 'x'.repeat(900_000) : 'x';
      await putDocument(tx, systemActor('tests'), row, `text-${at}`, { title, body });
      await createWorkProduct(tx, systemActor('tests'), row, { title: `Result ${at}`, type: 'artifact' });
    }
    return row;
  });
  const at = `/issues/${id}/material`;
  const listed = (text: string, kind: string) =>
    new Set([...text.matchAll(new RegExp(`${kind} \\d\\d`, 'g'))].map(([name]) => name));
  const first = await get(at);
  for (const [kind, name] of [
    ['Text', 'documents'],
    ['Result', 'results'],
  ] as const) {
    const more = new RegExp(`${name}&#61;([^"]+)"`).exec(first)?.[1] ?? '';
    const rest = await get(`${at}?${name}=${more}`);
    expect([kind, listed(first, kind).size]).toEqual([kind, 50]);
    expect([kind, listed(rest, kind).size, listed(first + rest, kind).size]).toEqual([kind, 2, 52]);
  }
  expect(listed(await get(`/issues/${id}/part/beside`), 'Text').size).toBe(50);
});

describe('an upload that fails', () => {
  it('leaves its sender on the page, told of the reason and with what was typed', async () => {
    const large = Buffer.alloc(30_000, 'x');
    const agent = `/agents/${cast.agent_id}/files`;
    for (const [at, part] of [
      [`/issues/${issue}/attachments`, /<h3>Files<\/h3>/],
      [agent, /name="path"[^>]+value="data\/&(?:quot|#34);typed/],
    ] as const) {
      const sent = request(app).post(at).set(headers());
      const answer = await sent.field('path', 'data/"typed".csv').attach('file', large, 'large.txt');
      expect([at, answer.status]).toEqual([at, 413]);
      expect(answer.text).toMatch(/class="error form-error"[^>]*>file too large: 20 kB at most</);
      expect(answer.text).toMatch(part);
    }
  });

  it('for there are too many files: the page says how many it takes, before and after', async () => {
    const limits = 'At most 10 files at once, in all 20 kB.';
    for (const at of [`/issues/${issue}`, `/issues/${issue}/part/beside`])
      expect(await get(at)).toContain(limits);
    for (const [language, said] of [
      ['en', 'too many files: 10 at most'],
      ['de', 'zu viele Dateien: höchstens 10'],
    ] as const) {
      const sent = request(app).post(`/issues/${issue}/attachments`).set(headers());
      for (let index = 0; index <= 10; index += 1) void sent.attach('file', Buffer.from('x'), `${index}.txt`);
      const answer = await sent.set('Accept-Language', language);
      expect([answer.status, answer.text.includes(said)]).toEqual([413, true]);
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

const here = () => `/issues/${issue}`;
const part = async (name: string, of = issue) => get(`/issues/${of}/part/${name}`);

describe('what belongs to an issue', () => {
  it('takes a label of the company, a new one too, and lets go of it', async () => {
    const made = await post(`${here()}/labels`, { name: 'urgent' });
    expect(made.headers.location).toBe(here());
    const add = /action="([^"]+\/labels\/[^"]+\/add)"/.exec(await get(here()))![1]!;
    expect((await post(add)).headers.location).toBe(here());
    const remove = /action="([^"]+\/labels\/[^"]+\/remove)"/.exec(await part('properties'))![1]!;
    await post(remove);
    expect(await part('properties')).not.toContain('/remove"');
    expect((await post(`${here()}/labels`, { name: 'urgent' })).text).toContain('form-error');
  });

  it('is tied to another issue by its number and untied again; a circle and a stranger are refused', async () => {
    const numberOf = async (id: string) => /<h1>([A-Z\d]+-\d+) /.exec(await get(`/issues/${id}`))![1]!;
    const [mine, theirs] = [await numberOf(issue), await numberOf(other)];
    const relate = async (from: string, target: string) =>
      post(`/issues/${from}/relations`, { relation_type: 'blocks', target });
    expect((await relate(issue, `${theirs.toLowerCase()} Print more`)).status).toBe(303);
    expect((await relate(issue, theirs)).status).toBe(303);
    expect(await part('beside', other)).toMatch(/is blocked by<\/span>[\s\S]*Sell more/);
    expect((await relate(other, mine)).text).toContain('would block each other');
    expect((await relate(other, 'NONE-1')).text).toContain('there is no issue NONE-1');
    expect((await relate(other, foreign)).text).toContain(`there is no issue ${foreign}`);
    const remove = /action="(\/issue-relations\/[^"]+)"/.exec(await part('beside', other))![1]!;
    expect((await post(remove, { at: other })).headers.location).toBe(`/issues/${other}`);
    expect(await part('beside', other)).not.toContain('is blocked by');
  });

  it('is parted in place: the part stands on the page, with how many are done', async () => {
    expect((await post(`${here()}/parts`, { title: 'Ask the printer' })).headers.location).toBe(here());
    const text = await part('work');
    expect(text).toMatch(/0 of 1 done[\s\S]*Ask the printer/);
    expect((await post(`${here()}/parts`, { title: '' })).text).toContain('form-error');
  });

  it('takes files, gives them back, and deletes them', async () => {
    const sent = request(app).post(`${here()}/attachments`).set(headers());
    const uploaded = await sent
      .attach('file', Buffer.from('one'), 'a.txt')
      .attach('file', Buffer.from('two'), 'b.txt');
    expect(uploaded.headers.location).toBe(`${here()}#files`);
    const text = await part('beside');
    const link = /href="(\/api\/attachments\/[^"]+\/download)"[^>]*>\s*a\.txt/.exec(text)![1]!;
    expect((await request(app).get(link).set(headers())).text).toBe('one');
    expect(await get(material())).toMatch(/a\.txt[\s\S]*"Size"><div>3 B</);
    for (const [, remove] of text.matchAll(/action="(\/attachments\/[^"]+\/delete)"/g)) await post(remove!);
    expect(await part('beside')).not.toContain('a.txt');
  });

  it('has documents: written, changed, and an earlier text brought back', async () => {
    const made = await post(`/issues/${issue}/documents`, { title: 'The Plan', body: 'First.' });
    const plan = made.headers.location!;
    expect(plan).toBe(`/issues/${issue}/documents/the-plan`);
    await post(plan, { title: 'The Plan', body: 'Second.' });
    const text = await get(plan);
    expect(text).toContain('<p>Second.</p>');
    const restore = /action="([^"]+\/restore)"/.exec(text)![1]!.replaceAll('&#45;', '-');
    expect((await post(restore)).headers.location).toBe(plan);
    expect(/<article class="card">[\s\S]*?<\/article>/.exec(await get(plan))![0]).toContain('First.');
    const keys = [];
    for (const title of ['Обзор', 'Смета 2026', 'План 2026', 'Straße'])
      keys.push((await post(`/issues/${issue}/documents`, { title, body: title })).headers.location);
    expect(keys.map((key) => key?.split('/').at(-1))).toEqual([
      expect.stringMatching(/^document-[\da-f]{8}$/),
      expect.stringMatching(/^2026-[\da-f]{8}$/),
      expect.stringMatching(/^2026-[\da-f]{8}$/),
      'stra-e',
    ]);
    expect(new Set(keys).size).toBe(4);
    expect((await post(`/issues/${issue}/documents`, { title: 'обзор', body: '' })).status).toBe(409);
    expect((await post(`/issues/${issue}/documents`, { title: '???', body: '' })).status).toBe(400);
    const same = await post(`/issues/${issue}/documents`, { title: 'the plan!', body: 'Of somebody else.' });
    expect([same.status, same.text]).toEqual([409, expect.stringContaining('Of somebody else.</textarea>')]);
    expect(await get(plan)).not.toContain('Of somebody else.');
  });
});
