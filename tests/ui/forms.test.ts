/** No typed text is lost, whatever happens to the form. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, openDatabase } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { testDatabase } from '@acp/testkit';
import type { Express } from 'express';
import { Writable } from 'node:stream';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { createCredentials } from '../../apps/web/src/http/credentials.ts';
import { FormValues } from '../../apps/web/src/ui/kit/form-values.ts';
import { giveBack } from '../../apps/web/src/ui/kit/give-back.ts';
import { select } from '../../apps/web/src/ui/kit/parts.ts';
import { uiPages } from '../../apps/web/src/ui/pages.ts';
import { uiRouter } from '../../apps/web/src/ui/router.ts';
import { type Cast, createCast } from '../http/cast.ts';
import { PUBLIC_URL, startPages } from '../http/pages.ts';
import { createStage, pathOn, type Stage } from '../http/stage.ts';

let app: Express;
/** Uses a database that rejects writes: every form fails there. */
let stuck: Express;
let readOnly: Database;
let cast: Cast;
let stage: Stage;

beforeAll(async () => {
  const pages = await startPages();
  ({ app } = pages);
  cast = await createCast(pages.database);
  stage = { ...(await createStage(pages.database, cast)), part: 'runs' };
  const { url } = await testDatabase();
  // Failures are expected here, so the log is discarded.
  const stream = new Writable({ write: (_chunk, _encoding, done) => done() });
  const logger = createLogger({ level: 'error', format: 'json', role: 'test', stream });
  readOnly = openDatabase({
    url: `${url}?options=-c%20default_transaction_read_only%3Don`,
    max: 4,
    application_name: 'test-read-only',
    logger,
  });
  const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_PUBLIC_URL: PUBLIC_URL });
  const deps = {
    config,
    database: readOnly,
    credentials: createCredentials({ database: readOnly, logger }),
    logger,
  };
  stuck = createApp({ ...deps, ui: uiRouter(deps) });
});
afterAll(async () => readOnly.close());

const sameOrigin = { 'Sec-Fetch-Site': 'same-origin' };
const send = (to: Express, path: string, form: Record<string, string>, headers: Record<string, string>) =>
  request(to)
    .post(path)
    .type('form')
    .set({ ...sameOrigin, ...headers })
    .send(new URLSearchParams(form).toString());

interface Found {
  path: string;
  html: string;
  fields: Record<string, string>;
  typed: string[];
}

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];

/** The forms of a page with text fields, filled in. */
function formsOf(html: string): Found[] {
  return [...html.matchAll(/<form[^>]*method="post"[\s\S]*?<\/form>/g)].flatMap(([form]) => {
    if (form.includes('multipart/form-data')) return [];
    const fields: Record<string, string> = {};
    const typed: string[] = [];
    for (const [tag] of form.matchAll(/<(?:input|textarea)[^>]*>/g)) {
      const name = attribute(tag, 'name') ?? '';
      const type = attribute(tag, 'type') ?? 'text';
      if (type === 'hidden') fields[name] = attribute(tag, 'value') ?? '';
      if (!['text', 'search', 'url', 'email'].includes(type)) continue;
      fields[name] = `typed "${name}" & kept`;
      typed.push(name);
    }
    const path = attribute(form, 'action')!;
    return typed.length > 0 ? [{ path, html: form, fields, typed }] : [];
  });
}

const pages = uiPages.filter((route) => route.kind === 'page').map((route) => [route.path, route] as const);

describe.each(pages)('on the page %s', (_path, route) => {
  it('each form that fails comes back with what was typed, but for secrets', async () => {
    const { text } = await request(app)
      .get(pathOn(stage, route))
      .set({ ...sameOrigin, ...cast.instance_admin.headers });
    for (const { path, html, fields, typed } of formsOf(text)) {
      const answer = await send(stuck, path, fields, cast.instance_admin.headers);
      expect([path, answer.status >= 400]).toEqual([path, true]);
      const action = uiPages.find(
        (each) => each.kind === 'action' && pathOn(stage, { path: each.path, scope: each.scope }) === path,
      );
      const secrets = action?.kind === 'action' ? action.secrets : [];
      const tags = [...html.matchAll(/<(?:input|textarea)[^>]*>/g)].map(([tag]) => tag);
      const kept = tags.filter((tag) => !/ data-secret| type="(?:password|hidden)"/.test(tag));
      expect(kept.filter((tag) => secrets.includes(attribute(tag, 'name') ?? ''))).toEqual([]);
      for (const name of typed) {
        const given = answer.text.replaceAll('&#34;', '"').replaceAll('&#38;', '&').includes(fields[name]!);
        expect([path, name, given]).toEqual([path, name, !secrets.includes(name)]);
      }
    }
  });
});

it('a form of somebody who was signed out meanwhile is kept, to be sent again after a sign-in', async () => {
  const path = `/companies/${cast.company_id}/issues/new`;
  const typed = { title: 'Typed for an hour', body_markdown: 'And this' };
  const kept = await send(app, path, typed, {}).expect(401);
  expect(kept.text).toMatch(new RegExp(`action="${path}"[\\s\\S]*Title[\\s\\S]*Typed for an hour`));
  expect(kept.text).toMatch(/>\s*Text[\s\S]*And this/);
  const foreign = { 'Sec-Fetch-Site': 'cross-site' };
  await send(app, path, { title: 'Put there by another site' }, foreign).expect(303);
  await send(app, '/profile/password', { current_password: 'a', new_password: 'b' }, {}).expect(303);
});

it.each(['issues/{issueId}/attachments', 'agents/{agentId}/files', 'companies/{companyId}/logo'])(
  'a form that is not multipart is no upload to %s',
  async (path) => {
    const target = pathOn(stage, { path: `/${path}`, scope: { by: 'none' } });
    for (const type of ['form', 'json']) {
      const sent = request(app)
        .post(target)
        .type(type)
        .set({ ...sameOrigin, ...cast.admin.headers });
      const answer = await sent.send(type === 'json' ? '{}' : 'path=a.txt');
      expect([type, answer.status]).toEqual([type, 400]);
      expect(answer.text).toContain('multipart/form-data');
    }
  },
);

describe('an issue', () => {
  it('has a form for each property, so that a change of one leaves what others changed', async () => {
    const headers = { ...sameOrigin, ...cast.member.headers };
    const path = `/issues/${stage.issueId!}`;
    const { text } = await request(app).get(path).set(headers);
    const forms = [...text.matchAll(/<form[^>]*\/properties"[\s\S]*?<\/form>/g)].map(([form]) =>
      [...form.matchAll(/\sname="(\w+)"/g)].map((match) => match[1]),
    );
    expect(forms).toEqual([['status'], ['priority'], ['assignee_agent_id'], ['project_id']]);
    await request(app).patch(`/api${path}`).set(headers).send({ priority: 'critical' }).expect(200);
    await send(app, `${path}/properties`, { status: 'in_review' }, cast.member.headers).expect(303);
    const { body } = await request(app).get(`/api${path}`).set(headers);
    expect(body).toMatchObject({ status: 'in_review', priority: 'critical' });
  });

  it('keeps a value that is none of the choices', () => {
    const html = select({
      name: 'project_id',
      label: 'Project',
      value: 'gone',
      choices: [{ value: '', label: 'none' }],
    });
    expect(/<option value="gone"\s+selected/.test(html)).toBe(true);
    expect(html.match(/ selected/g)).toHaveLength(1);
  });
});

describe('what was typed', () => {
  const form = (hidden: string, rest: string) =>
    `<form method="post" action="/x?y=1"><input type="hidden" name="id" value="${hidden}" />${rest}</form>`;
  const text = '<details><summary>Edit</summary><textarea name="text">old</textarea></details>';

  it('goes into the form it came from, unfolded, with quotes, line breaks and choices', async () => {
    const page = `${form('1', '<input name="a" value="old">')}<details class="edit">${form(
      '2',
      '<input name="a" value="old"><input type="checkbox" name="on" value="on"><textarea name="text">old</textarea><select name="s"><option value="1" selected>1</option><option value="2">2</option></select><input type="password" name="p">',
    )}</details>`;
    const typed = new FormValues({ id: '2', a: '"<&', on: ['', 'on'], text: '\r\n<b>', s: '2', p: 'secret' });
    const given = await giveBack(page, '/x', typed, []);
    expect(given).toContain(form('1', '<input name="a" value="old">'));
    expect(given).toContain('<details class="edit" open>');
    expect(given).toMatch(/name="a" value="&#34;&#60;&#38;"/);
    expect(given).toMatch(/type="checkbox" name="on" value="on" checked/);
    expect(given).toContain('<textarea name="text">\n\n&#60;b&#62;</textarea>');
    expect(given).toMatch(/<option value="1">1<\/option><option value="2" selected=""?>/);
    expect(given).not.toContain('secret');
  });

  it('is read once, however many choices a page has for it', async () => {
    const choices = Array.from({ length: 400 }, (_, at) => `<option value="${at}">${at}</option>`).join('');
    let reads = 0;
    const values = new Proxy(
      Array.from({ length: 1000 }, () => 'nowhere'),
      { get: (array, key) => ((reads += 1), Reflect.get(array, key)) },
    );
    const typed = new FormValues({ id: '1', zone: values });
    reads = 0;
    await giveBack(form('1', `<select name="zone">${choices}</select>`), '/x', typed, []);
    expect(reads).toBeLessThan(10_000);
  });

  it('changes nothing of a page without its form', async () => {
    expect(await giveBack(text, '/x', new FormValues({ text: 'new' }), [])).toBe(text);
  });
});
