import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventTable } from '@acp/contract';
import type { Express } from 'express';
import request from 'supertest';
import { uiPages } from '../../apps/web/src/ui/pages.ts';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';
import { createStage, pathOn, type Stage } from '../http/stage.ts';

let app: Express;
let cast: Cast;
let stage: Stage;
let foreign: Stage;

beforeAll(async () => {
  const pages = await startPages();
  ({ app } = pages);
  cast = await createCast(pages.database);
  stage = { ...(await createStage(pages.database, cast)), part: 'runs', tool: 'greet' };
  foreign = { ...stage, companyId: cast.other_company_id, agentId: cast.other_agent_id };
});

const get = (path: string, headers: Record<string, string>) =>
  request(app)
    .get(path)
    .set({ 'Sec-Fetch-Site': 'same-origin', ...headers });

const pages = uiPages.filter((route) => route.kind === 'page').map((route) => [route.path, route] as const);
const actions = uiPages
  .filter((route) => route.kind === 'action')
  .map((route) => [route.path, route] as const);

describe.each(pages)('the page %s', (_path, route) => {
  it('sends a stranger to the sign-in and back', async () => {
    const response = await get(pathOn(stage, route), {}).expect(303);
    // A part of a page is no place to come back to.
    const there = pathOn(stage, route).replace(/\/part\/.*/, '');
    const back = there === '/companies' ? '' : `?next=${encodeURIComponent(there)}`;
    expect(response.headers.location).toBe(`/login${back}`);
  });

  it('is shown to whoever has its role, and to nobody below', async () => {
    const ranks = { none: 0, viewer: 0, member: 1, admin: 2, instance_admin: 3 };
    const people = [cast.viewer, cast.member, cast.admin, cast.instance_admin];
    for (const [rank, person] of people.entries()) {
      const response = await get(pathOn(stage, route), person.headers);
      expect(response.status).toBe(rank >= ranks[route.role] ? 200 : 403);
      expect(response.headers['content-type']).toMatch(/text\/html/);
    }
  });

  it('has nothing inline that the policy would refuse', async () => {
    const { text, headers } = await get(pathOn(stage, route), cast.instance_admin.headers).expect(200);
    expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=/i);
    expect(headers['content-security-policy']).not.toContain('unsafe');
  });
});

const scoped = pages.filter(([, route]) => route.scope.by === 'company' || route.scope.by === 'agent');

it.each(scoped)('the page %s of another company is not there', async (_path, route) => {
  await get(pathOn(foreign, route), cast.admin.headers).expect(404);
});

it('a link of the navigation leads to a page, and nobody is offered what is refused', async () => {
  for (const person of [cast.viewer, cast.member, cast.admin, cast.instance_admin]) {
    for (const from of [`/companies/${cast.company_id}`, '/companies']) {
      const { text } = await get(from, person.headers).expect(200);
      const [nav] = /<nav class="sections"[\s\S]*?<\/nav>/.exec(text)!;
      const paths = [...nav.matchAll(/href="([^"]+)"/g)].map((match) => match[1]!);
      expect(paths.length).toBeGreaterThan(1);
      for (const path of paths) {
        const there = await get(path, person.headers);
        expect([path, there.status]).toEqual([path, 200]);
        expect(there.text).toMatch(new RegExp(`href="${path}"\\s+aria-current="page"`));
      }
    }
  }
});

describe('the sections', () => {
  const sections = async (path: string, cookie = '') => {
    const { headers } = cast.admin;
    const { text } = await get(path, { Cookie: `${headers.Cookie!}; ${cookie}` }).expect(200);
    return /<nav class="sections"[\s\S]*?<\/nav>/.exec(text)![0];
  };
  const folds = (nav: string) =>
    [...nav.matchAll(/<details\s+data-section="(\w+)"( open)?/g)].map(([, name, open]) => [
      name,
      Boolean(open),
    ]);

  it('that are rarely needed are folded until the page is one of theirs', async () => {
    const company = `/companies/${cast.company_id}`;
    const nav = await sections(company);
    expect(folds(nav)).toEqual([
      ['knowledge', false],
      ['integrations', false],
    ]);
    const inSight = nav.replaceAll(/<details[\s\S]*?<\/details>/g, '');
    expect(inSight.split(`href="${company}`)).toHaveLength(16);
    const there = await sections(`${company}/webhooks`);
    expect(folds(there)).toEqual([
      ['knowledge', false],
      ['integrations', true],
    ]);
  });

  it('that somebody has unfolded stay so in that browser', async () => {
    const nav = await sections(`/companies/${cast.company_id}/board`, 'service_sections=knowledge.%"><b>');
    expect(folds(nav)).toEqual([
      ['knowledge', true],
      ['integrations', false],
    ]);
    expect(nav).not.toContain('<b>');
  });
});

it('a form is done by the API’s own handler, but where only a page does it', () => {
  const own = actions.filter(([, { handler }]) => handler !== undefined).map(([path]) => path);
  expect(own.toSorted()).toEqual([
    '/channels/{channelId}/knowledge',
    '/companies/{companyId}/egress',
    '/companies/{companyId}/egress/add',
    '/companies/{companyId}/egress/delete',
    '/companies/{companyId}/knowledge/index/discard',
    '/companies/{companyId}/knowledge/index/promote',
    '/routine-triggers/{triggerId}/signing-mode',
    '/routines/{routineId}/triggers',
  ]);
});

describe.each(actions)('the form %s', (path, { endpoint, scope }) => {
  it('has an address that leads to a page', async () => {
    const target = pathOn(stage, { path, scope });
    const headers = { ...cast.instance_admin.headers, Accept: 'text/html' };
    const first = await get(target, headers);
    const shown = first.status === 303 ? await get(first.headers.location!, headers) : first;
    expect([first.status === 303 || first.status === 200, shown.status]).toEqual([true, 200]);
    // The closest one above it, if there is one.
    const { location = '/companies' } = first.headers;
    expect(location === '/companies' || target.startsWith(`${location}/`)).toBe(true);
  });

  it('is refused to a viewer and to a stranger, and across sites', async () => {
    const target = pathOn(stage, { path, scope });
    const post = (headers: Record<string, string>) =>
      request(app).post(target).type('form').set(headers).send('');
    await post({ 'Sec-Fetch-Site': 'same-origin' }).expect(303);
    await post({ ...cast.instance_admin.headers, 'Sec-Fetch-Site': 'cross-site' }).expect(403);
    if (endpoint.role !== 'none' && endpoint.role !== 'viewer') {
      await post({ ...cast.viewer.headers, 'Sec-Fetch-Site': 'same-origin' }).expect(403);
    }
  });
});

describe('a member with a browser', () => {
  const browser = () => Browser.of(app, cast.member);

  it('writes an issue, changes it, comments, and reads all of it again', async () => {
    const member = browser();
    const created = await member.post(`/companies/${cast.company_id}/issues/new`, {
      title: 'A <b>bold</b> plan',
      body_markdown: '**Do it** <script>alert(1)</script>',
      priority: 'high',
    });
    expect(created.status).toBe(303);
    const path = created.headers.location!;
    expect((await member.post(`${path}/properties`, { status: 'in_review', priority: 'low' })).status).toBe(
      303,
    );
    expect((await member.post(`${path}/comments`, { body_markdown: 'Looks *good*.' })).status).toBe(303);
    const { text } = await member.get(path);
    expect(text).toContain('A &#60;b&#62;bold&#60;/b&#62; plan');
    expect(text).toContain('<strong>Do it</strong>');
    expect(text).not.toContain('<script>alert');
    expect(text).toContain('<em>good</em>');
    expect(text).toContain('changed status from todo to in review');
    const board = await member.get(`/companies/${cast.company_id}/board?q=bold`);
    expect(board.text).toMatch(/data-column="in_review"[\s\S]*bold/);
  });

  it('is told beside the form what was wrong, and keeps what was typed', async () => {
    const member = browser();
    const refused = await member.post(`/companies/${cast.company_id}/agents/new`, {
      name: 'Grace',
      adapter_config: '{not json',
      system_prompt: 'Typed with care.',
    });
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/id="e-adapter_config" role="alert">Is not valid JSON\./);
    expect(refused.text).toContain('Typed with care.');
  });

  it('hires an agent, mints a key that is shown once, and dismisses the agent', async () => {
    const member = browser();
    const hired = await member.post(`/companies/${cast.company_id}/agents/new`, {
      name: 'Hopper',
      adapter_config: '{}',
    });
    const path = hired.headers.location!;
    const minted = await member.post(`${path}/keys`, { label: 'laptop' });
    expect(minted.text).toMatch(/sk_[0-9a-f]{64}/);
    const again = await member.get(`${path}/settings`);
    expect(again.text).not.toMatch(/sk_[0-9a-f]{64}/);
    expect(again.text).toContain('laptop');
    expect((await member.post(`${path}/delete`)).status).toBe(303);
    expect((await member.get(path)).status).toBe(404);
  });
});

it('a page that does not exist sends a stranger to the sign-in; a user is told, and the API answers JSON', async () => {
  const path = '/companies/nowhere/at/all?x=1';
  const stranger = await request(app).get(path).expect(303);
  expect(stranger.headers.location).toBe(`/login?next=${encodeURIComponent(path)}`);
  const told = await request(app).get(path).set(cast.member.headers).expect(404);
  expect(told.headers['content-type']).toContain('text/html');
  expect(told.text).toContain('There is nothing here');
  // Shown in the layout of the reader's company; another company's is not disclosed.
  expect(told.text).toContain(`data-company="${cast.company_id}"`);
  const elsewhere = `/companies/${cast.other_company_id}/board`;
  const refused = await request(app).get(elsewhere).set(cast.member.headers).expect(404);
  expect(refused.text).not.toContain(cast.other_company_id);
  await request(app).get('/api/nowhere').set(cast.member.headers).expect(404, { error: 'not found' });
  await request(app).get('/static/nowhere.css').expect(404);
});

it('a stranger’s script is told so, and a stranger’s button leads back to its page', async () => {
  const part = `/issues/${stage.issueId}/part/decisions`;
  for (const [name, value] of [
    ['HX-Request', 'true'],
    ['Sec-Fetch-Dest', 'empty'],
  ]) {
    const told = await get(part, { [name!]: value! }).expect(401);
    expect([told.text, told.headers.location, told.headers['hx-redirect']]).toEqual([
      '',
      undefined,
      undefined,
    ]);
  }
  const pressed = async (referer: string) => {
    const sent = request(app).post(`/issues/${stage.issueId}/trigger`).set('Host', 'own.example');
    return (await sent.set({ 'Sec-Fetch-Site': 'same-origin', Referer: referer }).expect(303)).headers
      .location;
  };
  const page = `/issues/${stage.issueId}?runs=all`;
  expect(await pressed(`http://own.example${page}`)).toBe(`/login?next=${encodeURIComponent(page)}`);
  expect(await pressed(`http://evil.example${page}`)).toBe('/login');
});

it('pages come compressed, and name files that browsers keep for good, with what scripts import beside them', async () => {
  const page = await get(`/companies/${cast.company_id}`, {
    ...cast.member.headers,
    'Accept-Encoding': 'br',
  }).expect('content-encoding', 'br');
  const [, script] = /<script src="(\/static\/[\w-]{22}\/app\.js)"/.exec(page.text)!;
  for (const path of [script!, script!.replace('app.js', 'live.js'), script!.replace('app.js', 'app.css')]) {
    const kept = await request(app).get(path).set('Accept-Encoding', 'br').expect(200);
    expect(kept.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' });
    expect(kept.headers['cache-control']).toContain('immutable');
    const plain = await request(app).get(path).set('Accept-Encoding', 'identity').expect(200);
    expect(plain.headers['content-encoding']).toBeUndefined();
    await request(app).get(path).set('If-None-Match', kept.headers.etag!).expect(304);
  }
  const old = await request(app).get('/static/an-older-release/app.js').expect(200);
  expect(old.headers['cache-control']).toBe('no-cache');
});

it('a script that asks for JSON gets the companies as JSON', async () => {
  const list = await get('/companies', { ...cast.member.headers, Accept: 'application/json' }).expect(200);
  expect(list.body).toEqual([expect.objectContaining({ id: cast.company_id })]);
  const one = await get(`/companies/${cast.company_id}`, {
    ...cast.member.headers,
    Accept: 'application/json',
  });
  expect(one.body).toMatchObject({ id: cast.company_id });
});

it.each([
  ['/companies?x=1', '/companies?x=1'],
  ['/issues/7/part/decisions?x=1', '/issues/7?x=1'],
  ['//evil.example', '/companies'],
  ['/\\evil.example', '/companies'],
  ['https://evil.example', '/companies'],
  ['', '/companies'],
])('whoever signs in on the way to %j goes to %j', async (next, expected) => {
  const { text } = await get(`/login?next=${encodeURIComponent(next)}`, {}).expect(200);
  expect(/name="next" value="([^"]*)"/.exec(text)![1]!.replaceAll('&#61;', '=')).toBe(expected);
});

it('a page hears of every event that there is', async () => {
  const { text } = await request(app).get('/static/live-stream.js').expect(200);
  const [, names] = /const NAMES = \[([^\]]*)\]/.exec(text)!;
  const heard = [...names!.matchAll(/'(\w+)'/g)].map(([, name]) => name!);
  expect(heard.toSorted()).toEqual([...Object.keys(eventTable), 'run_event'].toSorted());
});
