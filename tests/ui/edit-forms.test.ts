/** Forms that edit something change what the reader has changed, and nothing else. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import { Parser } from 'htmlparser2';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let database: Database;
let cast: Cast;
let browser: Browser;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
  browser = Browser.of(app, cast.admin);
});

type Values = Record<string, string[]>;

/** What a browser posts for the form with that action. */
function formAt(page: string, action: string): Values {
  const values: Values = {};
  const add = (name: string | undefined, value: string) => {
    if (name) (values[name] ??= []).push(value.replaceAll('\n', '\r\n'));
  };
  let inside = false;
  let area: { name: string | undefined; text: string } | undefined;
  let chosen: { name: string | undefined; value?: string; fixed?: boolean } | undefined;
  const parser = new Parser({
    onopentag(tag, given) {
      if (tag === 'form') inside = given.action === action;
      if (!inside) return;
      if (tag === 'textarea') area = { name: given.name, text: '' };
      if (tag === 'select') chosen = { name: given.name };
      if (
        tag === 'option' &&
        chosen &&
        !chosen.fixed &&
        (chosen.value === undefined || 'selected' in given)
      ) {
        chosen.value = given.value ?? '';
        chosen.fixed = 'selected' in given;
      }
      if (tag === 'input' && (given.type !== 'checkbox' || 'checked' in given))
        add(given.name, given.value ?? '');
    },
    ontext: (text) => {
      if (area) area.text += text;
    },
    onclosetag(tag) {
      if (tag === 'textarea' && area) add(area.name, area.text.replace(/^\n/, ''));
      if (tag === 'textarea') area = undefined;
      if (tag === 'select' && chosen) add(chosen.name, chosen.value ?? '');
      if (tag === 'select') chosen = undefined;
      if (tag === 'form') inside = false;
    },
  });
  parser.end(page);
  return values;
}

const api = async (method: 'get' | 'post' | 'patch', path: string, body?: object) => {
  const call = request(app)[method](path).set(cast.board_admin.headers);
  const answer = await (body ? call.send(body) : call);
  expect([path, answer.status < 300]).toEqual([path, true]);
  return answer.body as Record<string, unknown> & { id: string };
};

const TEXT = 'Two lines:\n<b>"one"</b> & another';

describe.each([
  [
    'agents',
    '/settings',
    '/edit',
    { name: 'Edith', role: 'qa', system_prompt: TEXT },
    'title',
    { system_prompt: 'New prompt', heartbeat_enabled: true, adapter_config: { full_context: true } },
  ],
  [
    'projects',
    '',
    '',
    { name: 'Quay', description: TEXT },
    'name',
    { description: 'New text', status: 'paused', close_on_merge: true },
  ],
  [
    'goals',
    '',
    '',
    { title: 'Grow', description: TEXT },
    'title',
    { description: 'New text', status: 'achieved' },
  ],
  [
    'notes',
    '',
    '',
    { title: 'Tides', body_markdown: TEXT, tags: ['a', 'b'] },
    'title',
    { body_markdown: 'New text', tags: ['c'], kind: 'memory' },
  ],
  [
    'skills',
    '',
    '',
    { slug: 'knots', name: 'Knots', description: 'd', body_markdown: TEXT },
    'name',
    { body_markdown: 'New text', enabled: false, company_wide: true },
  ],
  [
    'routines',
    '/edit',
    '/edit',
    { name: 'Nightly', title_template: 'Look', body_template: TEXT },
    'name',
    { body_template: 'New text', priority: 'low' },
  ],
] as const)('the form of %s', (kind, page, post, made, field, meanwhile) => {
  const open = async () => {
    const created = await api('post', `/api/companies/${cast.company_id}/${kind}`, {
      ...made,
      ...('slug' in made ? { slug: `knots-${Math.trunc(performance.now() * 1000)}` } : {}),
    });
    const { id } = created;
    const { text, status } = await browser.get(`/${kind}/${id}${page}`);
    expect(status).toBe(200);
    return { id, path: `/${kind}/${id}${post}`, values: formAt(text, `/${kind}/${id}${post}`) };
  };

  it('keeps what somebody else has changed since it was shown', async () => {
    const { id, path, values } = await open();
    await api('patch', `/api/${kind}/${id}`, meanwhile);
    expect((await browser.post(path, { ...values, [field]: ['Renamed'] })).status).toBe(303);
    expect(await api('get', `/api/${kind}/${id}`)).toMatchObject({ ...meanwhile, [field]: 'Renamed' });
  });

  it('changes nothing if nothing was changed', async () => {
    const { id, path, values } = await open();
    const before = await api('get', `/api/${kind}/${id}`);
    expect((await browser.post(path, values)).status).toBe(303);
    const after = await api('get', `/api/${kind}/${id}`);
    expect({ ...after, updated_at: null }).toEqual({ ...before, updated_at: null });
  });

  it('comes back with what was typed, and saves it then', async () => {
    const { id, path, values } = await open();
    const long = 'x'.repeat(3000);
    const required = kind === 'agents' ? 'name' : field;
    const refused = await browser.post(path, { ...values, [required]: [long] });
    expect(refused.status).toBe(400);
    const again = formAt(refused.text, path);
    expect(again[required]).toEqual([long]);
    const stored = await api('get', `/api/${kind}/${id}`);
    expect((await browser.post(path, { ...again, [required]: ['Shorter'] })).status).toBe(303);
    const after = await api('get', `/api/${kind}/${id}`);
    const counted = { updated_at: null, version: null };
    expect({ ...after, ...counted }).toEqual({ ...stored, [required]: 'Shorter', ...counted });
  });
});
