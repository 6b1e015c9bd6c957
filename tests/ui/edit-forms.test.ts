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
  ({ app, database } = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) }));
  cast = await createCast(database);
  browser = Browser.of(app, cast.admin);
});

type Values = Record<string, string[]>;

/** What a browser posts for the form with that action and field. */
function formAt(page: string, action: string, field?: string): Values {
  const forms: Values[] = [];
  let values: Values = {};
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
      if (tag === 'form') forms.push((values = {}));
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
  return forms.find((form) => field === undefined || field in form) ?? {};
}

const api = async (method: 'get' | 'post' | 'patch', path: string, body?: object, who = cast.admin) => {
  const call = request(app)[method](path).set(who.headers).accept('json');
  const answer = await (body ? call.send(body) : call);
  expect([path, answer.status < 300]).toEqual([path, true]);
  return answer.body as Record<string, unknown> & { id: string };
};

const TEXT = 'Two lines:\n<b>"one"</b> & another, in a <textarea>';

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
    'issues',
    '',
    '/edit',
    { title: 'Repaint', body_markdown: TEXT },
    'title',
    { body_markdown: 'New text', priority: 'high', status: 'in_review' },
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

const unique = () => Math.trunc(performance.now() * 1000).toString(36);
const HOST = 'https://example.com';

/** Things with addresses of their own, for page and API, and with other rules for what may be typed. */
interface Edited {
  title: string;
  /** Creates it unless there is one anyway. */
  create?: { path: string; body: () => object };
  api: string;
  /** Where it is read, alone or in a list, if not there. */
  read?: string;
  page: string;
  post: string;
  field: string;
  typed: () => string;
  wrong: string;
  meanwhile: Record<string, unknown>;
}

const company = '/api/companies/COMPANY';
const things: Edited[] = [
  {
    title: 'a provider',
    create: {
      path: `${company}/providers`,
      body: () => ({ name: `Vendor ${unique()}`, adapter_type: 'family_chat_a', default_model: 'old' }),
    },
    api: '/api/providers/ID',
    page: '/providers/ID',
    post: '/providers/ID',
    field: 'name',
    typed: () => `Renamed ${unique()}`,
    wrong: 'x'.repeat(3000),
    meanwhile: { default_model: 'new', base_url: `${HOST}/v1`, enabled: false, is_default: true },
  },
  {
    title: 'an MCP server',
    create: {
      path: `${company}/mcp-servers`,
      body: () => ({ name: `tracker-${unique()}`, url: `${HOST}/mcp` }),
    },
    api: '/api/mcp-servers/ID',
    page: '/mcp-servers/ID',
    post: '/mcp-servers/ID',
    field: 'name',
    typed: () => `renamed-${unique()}`,
    wrong: 'not a name',
    meanwhile: {
      url: `${HOST}/new`,
      headers: { Authorization: '${secret:TRACKER}' },
      timeout_seconds: 40,
      refresh_interval_seconds: 1200,
    },
  },
  {
    title: 'a channel',
    create: {
      path: `${company}/channels`,
      body: () => ({ name: `bot-${unique()}`, kind: 'telegram', bot_token: '${secret:OLD}', groups: ['-1'] }),
    },
    api: '/api/channels/ID',
    page: '/channels/ID',
    post: '/channels/ID',
    field: 'name',
    typed: () => `renamed-${unique()}`,
    wrong: 'not a name',
    meanwhile: { bot_token: '${secret:NEW}', groups: ['-1', '-2'], default_agent_id: 'AGENT' },
  },
  {
    title: 'a peer',
    create: { path: `${company}/a2a/peers`, body: () => ({ label: `Peer ${unique()}`, url: HOST }) },
    api: '/api/a2a/peers/ID',
    page: '/peers/ID',
    post: '/peers/ID',
    field: 'label',
    typed: () => `Renamed ${unique()}`,
    wrong: 'x'.repeat(3000),
    meanwhile: { url: `${HOST}/card`, rate_limit_rpm: 7, local_preference_bias: 0.5, enabled: false },
  },
  {
    title: 'an outbound webhook',
    create: { path: `${company}/webhooks`, body: () => ({ url: `${HOST}/hook`, events: ['*'] }) },
    api: '/api/webhooks/ID',
    read: `${company}/webhooks`,
    page: '/webhooks/ID',
    post: '/webhooks/ID',
    field: 'url',
    typed: () => `${HOST}/renamed`,
    wrong: 'nowhere',
    meanwhile: { events: ['issue.*', 'agent.finished'] },
  },
  {
    title: 'the company',
    api: company,
    read: '/companies/COMPANY',
    page: '/companies/COMPANY/settings',
    post: '/companies/COMPANY/settings',
    field: 'name',
    typed: () => `Renamed ${unique()}`,
    wrong: 'x'.repeat(3000),
    meanwhile: { slug: 'moved', default_worker_tags: ['gpu', 'linux'] },
  },
  {
    title: 'new agents of the company',
    api: `${company}/agent-defaults`,
    page: '/companies/COMPANY/settings',
    post: '/companies/COMPANY/settings/agents',
    field: 'heartbeat_interval_sec',
    typed: () => '601',
    wrong: 'often',
    meanwhile: { adapter_config: { temperature: 1 }, heartbeat_enabled: true },
  },
  {
    title: 'the instance',
    api: '/api/instance-settings',
    page: '/admin/settings',
    post: '/admin/settings',
    field: 'instance_name',
    typed: () => `Renamed ${unique()}`,
    wrong: 'x'.repeat(3000),
    meanwhile: { run_retention_days: 11, backup_schedule: '0 4 * * *', refuse_common_passwords: false },
  },
];

describe.each(things)('the form of $title', (thing) => {
  const filled = (text: string, id: string): string =>
    text.replaceAll('COMPANY', cast.company_id).replaceAll('ID', id).replaceAll('AGENT', cast.agent_id);

  /** The thing as two people open it: its addresses, and what the form posts. */
  async function open() {
    const { create } = thing;
    const created =
      create && (await api('post', filled(create.path, ''), create.body(), cast.instance_admin));
    const id = created?.id ?? '';
    const [address, page, post] = [filled(thing.api, id), filled(thing.page, id), filled(thing.post, id)];
    const read = filled(thing.read ?? thing.api, id);
    const person = Browser.of(app, cast.instance_admin);
    const { text, status } = await person.get(page);
    expect(status).toBe(200);
    const values = formAt(text, post, thing.field);
    expect(Object.keys(values)).toEqual(expect.arrayContaining([thing.field, 'as_shown']));
    return { address, at: { read, id }, post, values, person };
  }

  const shown = async ({ read, id }: { read: string; id: string }): Promise<Record<string, unknown>> => {
    const answer: unknown = await api('get', read, undefined, cast.instance_admin);
    const one = Array.isArray(answer) ? answer.find((each: { id: string }) => each.id === id) : answer;
    return { ...(one as object), updated_at: null };
  };

  it('keeps what somebody else has changed since it was shown', async () => {
    const { address, at, post, values, person } = await open();
    const others = JSON.parse(filled(JSON.stringify(thing.meanwhile), '')) as object;
    await api('patch', address, others, cast.instance_admin);
    const before = await shown(at);
    const typed = thing.typed();
    expect((await person.post(post, { ...values, [thing.field]: [typed] })).status).toBe(303);
    const after = await shown(at);
    expect(after).toMatchObject(others);
    expect(String(after[thing.field])).toBe(typed);
    expect({ ...after, [thing.field]: null }).toEqual({ ...before, [thing.field]: null });
  });

  it('changes nothing if nothing was changed, and comes back with what was typed', async () => {
    const { address, at, post, values, person } = await open();
    const before = await shown(at);
    expect((await person.post(post, values)).status).toBe(303);
    expect(await shown(at)).toEqual(before);
    const refused = await person.post(post, { ...values, [thing.field]: [thing.wrong] });
    expect(refused.status).toBe(400);
    const again = formAt(refused.text, post, thing.field);
    expect(again[thing.field]).toEqual([thing.wrong]);
    // What somebody else changes in the meantime stays, as after the first try.
    const others = JSON.parse(filled(JSON.stringify(thing.meanwhile), '')) as object;
    await api('patch', address, others, cast.instance_admin);
    const typed = thing.typed();
    expect((await person.post(post, { ...again, [thing.field]: [typed] })).status).toBe(303);
    const after = await shown(at);
    expect(after).toMatchObject(others);
    expect(String(after[thing.field])).toBe(typed);
  });
});

it('a variable of several lines is one in the form, and stays as it is while another is added', async () => {
  const env = {
    SETTINGS: 'mode=a\nlevel=1\r\n\nend',
    KEY: '"quoted"',
    PATTERN: String.raw`"first\nsecond"`,
    NESTED: JSON.stringify(String.raw`"first\nsecond"`),
    PLAIN: ' spaced  ',
  };
  const made = await browser.api('post', `/api/companies/${cast.company_id}/projects`, {
    name: 'Lines',
    env,
  });
  const path = `/projects/${(made.body as { id: string }).id}`;
  const form = formAt((await browser.get(path)).text, path, 'env');
  const sent = { ...form, env: [`${form.env![0]!}\r\nADDED="a\\nb"`] };
  expect((await browser.post(path, sent)).status).toBe(303);
  const { body } = await browser.api('get', `/api${path}`);
  expect((body as { env: object }).env).toEqual({ ...env, ADDED: 'a\nb' });
});

it('a list that no form can have shown is compared with none, and keeps nobody waiting', async () => {
  const made = await api('post', `/api/companies/${cast.company_id}/notes`, {
    title: 'Tides',
    body_markdown: 'High',
    tags: ['a', 'b'],
  });
  const path = `/notes/${made.id}`;
  const form = formAt((await browser.get(path)).text, path);
  const shown = JSON.parse(form.as_shown![0]!) as object;
  const many = Array.from({ length: 100_000 }, (_, at) => at.toString(36));
  const sent = { ...form, as_shown: [JSON.stringify({ ...shown, tags: many })], tags: [many.join(',')] };
  expect((await browser.post(path, sent)).status).toBe(409);
  expect(await api('get', `/api${path}`)).toMatchObject({ tags: ['a', 'b'] });
});
