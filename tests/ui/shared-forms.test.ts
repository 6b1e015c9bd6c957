/**
 * Two people have the same form open. Goes over the forms of all pages: whoever edits something changes what they changed,
 * and learns of what somebody else did to the same field.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { schema } from '@acp/db';
import { uiPages } from '../../apps/web/src/ui/pages.ts';
import { type Cast, createCast } from '../http/cast.ts';
import { type Control, type PageForm, pageForms, type Values } from '../http/page-forms.ts';
import { Browser, type Pages, startPages } from '../http/pages.ts';
import { createStage, isPart, pathOn, type Stage } from '../http/stage.ts';

let pages: Pages;
let cast: Cast;
let stage: Stage;
let person: Browser;

beforeAll(async () => {
  pages = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) });
  cast = await createCast(pages.database);
  stage = { ...(await createStage(pages.database, cast)), part: 'runs', tool: 'greet' };
  person = Browser.of(pages.app, cast.instance_admin);
  const { company_id, instance_admin } = cast;
  await pages.database.db.insert(schema.chat_pairings).values({
    channel_id: stage.channelId!,
    company_id,
    channel: 'telegram',
    user_id: instance_admin.user_id,
    external_id: instance_admin.user_id,
  });
  const priced = { model: 'priced', input_usd: '1', output_usd: '2' };
  const made = await person.post(`/companies/${company_id}/costs/prices`, priced);
  if (made.status !== 303) throw new Error(`no price: ${made.status}`);
});

/** Why a form that shows a value of its own needs no such care, by the path it posts to. */
const others: Readonly<Record<string, string>> = {
  // Filled in by default: they create something, or start it.
  '/admin/users': 'creates',
  '/companies/{companyId}/connect-model': 'creates',
  '/companies/{companyId}/members/add': 'creates',
  '/companies/{companyId}/members/invites': 'creates',
  '/companies/{companyId}/members/keys': 'creates',
  '/companies/{companyId}/connect': 'creates',
  '/companies/{companyId}/agents/new': 'creates',
  '/companies/{companyId}/issues/new': 'creates',
  '/companies/{companyId}/goals': 'creates',
  '/companies/{companyId}/projects': 'creates',
  '/companies/{companyId}/notes': 'creates',
  '/companies/{companyId}/skills': 'creates',
  '/companies/{companyId}/providers': 'creates',
  '/companies/{companyId}/budgets': 'creates',
  '/companies/{companyId}/channels': 'creates',
  '/companies/{companyId}/peers': 'creates',
  '/companies/{companyId}/mcp-servers': 'creates',
  '/companies/{companyId}/routines/new': 'creates',
  '/companies/{companyId}/chats': 'creates',
  '/companies/{companyId}/approvals/new': 'creates',
  '/issues/{issueId}/relations': 'creates',
  '/issues/{issueId}/promote-routine': 'creates',
  '/routines/{routineId}/triggers': 'creates',
  '/issues/{issueId}/convene-council': 'starts',
  '/agents/{agentId}/evolve-prompt': 'starts',
  '/mcp-servers/{serverId}/try': 'starts',
  // One choice each, sent alone.
  '/issues/{issueId}/properties': 'one choice',
  '/companies/{companyId}/members/{userId}/role': 'one choice',
};

const shownAt = (): [path: string, page: string][] => [
  ...uiPages
    .filter((route) => route.kind === 'page' && !isPart(route.path))
    .map((route): [string, string] => [pathOn(stage, route), route.path]),
  [`/companies/${cast.company_id}/costs/prices?model=priced`, 'the price of a model'],
];

const actionOf = (action: string): (typeof uiPages)[number] | undefined =>
  uiPages.find(
    ({ kind, path }) =>
      kind === 'action' &&
      new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(action.split('?')[0]!),
  );

const constants = (form: PageForm): [string, string[]][] =>
  Object.entries(form.values).filter(([name]) => name !== 'as_shown' && !form.controls.has(name));

/** Every form that edits something, once: its page, and the form on it. */
const edited = new Map<string, { at: string; action: string; constants: string }>();

async function openForm({ at, action, constants: own }: { at: string; action: string; constants: string }) {
  const { text, status } = await person.get(at);
  expect([at, status]).toEqual([at, 200]);
  const found = pageForms(text).find(
    (form) => form.action === action && 'as_shown' in form.values && JSON.stringify(constants(form)) === own,
  );
  if (!found) throw new Error(`${at} lacks the form of ${action}`);
  return found;
}

/** The forms that show what is stored without saying so, and the paths of all forms that show anything. */
const careless: string[] = [];
const showing = new Set<string>();

beforeAll(async () => {
  for (const [at] of shownAt())
    for (const form of pageForms((await person.get(at)).text)) {
      const path = actionOf(form.action)?.path ?? form.action;
      const own = JSON.stringify(constants(form));
      if ('as_shown' in form.values) {
        edited.set(`${form.action} ${own}`, { at, action: form.action, constants: own });
        continue;
      }
      const shows = [...form.controls.keys()].some((name) =>
        form.values[name]?.some((value) => value !== ''),
      );
      if (!shows || form.multipart) continue;
      showing.add(path);
      if (!Object.hasOwn(others, path))
        careless.push(`${at}: ${path} ${[...form.controls.keys()].join(' ')}`);
    }
});

it('each form that shows what is stored says what it showed, and its action knows the page', () => {
  expect(careless).toEqual([]);
  expect(Object.keys(others).filter((path) => !showing.has(path))).toEqual([]);
  expect(edited.size).toBeGreaterThan(25);
  for (const { action } of edited.values()) {
    const route = actionOf(action);
    expect([action, route?.kind === 'action' && route.edits !== undefined]).toEqual([action, true]);
  }
});

/** Would lock the person of this test out, or needs what is not on this stage. */
const untouched = new Set(['require_second_factor', 'current_password', 'home_dir', 'keep_keys']);

/** Another model's name makes another price, and the tools of a server that is asked differently are unknown. */
const mayTouch = (action: string, name: string): boolean =>
  !untouched.has(name) &&
  !(name === 'model' && action.includes('/costs/prices')) &&
  !(['url', 'headers'].includes(name) && action.startsWith('/mcp-servers/'));

/** Never shown again. */
const writeOnly = new Set(['value', 'api_key']);

let counter = 0;

/** Values that such a field may take, the likeliest first. */
function candidates({ type, list, choices }: Control, now: readonly string[] = []): string[][] {
  counter += 1;
  const [value = ''] = now;
  const unix = value.replaceAll('\r\n', '\n');
  if (type === 'checkbox' && list === undefined) return [now.includes('on') ? [''] : ['', 'on']];
  if (type === 'checkbox') return [now.includes(choices[0]!) ? [''] : ['', choices[0]!]];
  if (type === 'select')
    return choices.filter((choice) => choice !== value && choice !== '').map((each) => [each]);
  if (type === 'number') return [[String(Number(value || 6) + 1)]];
  if (list === '=') return [[`${unix}\nADDED_${counter}=x`]];
  if (list === ':') return [[`${unix}\nX-Added-${counter}: \${secret:ADDED}`]];
  if (list === '' && type === 'textarea') return [[`${unix}\nadded-${counter}.example`]];
  if (list === '')
    return ['agent.finished', `added-${counter}`, `ADDED_${counter}`, `-${counter}`].map((item) => [
      unix === '' ? item : `${unix}, ${item}`,
    ]);
  if (type === 'url') return [[`https://example.com/${counter}`]];
  if (type === 'email') return [[`changed-${counter}@test.example`]];
  return [
    `${unix}x`,
    `x${counter}`,
    String(counter),
    `{\n  "temperature": 0.${counter}1\n}`,
    `${counter % 60} 4 * * *`,
    'Europe/Berlin',
    'Europe/Paris',
  ].map((each) => [each]);
}

const post = (form: PageForm, values: Values) => person.post(form.action, { ...form.values, ...values });
const unixOf = (values: readonly string[] = []): string[] =>
  values.map((value) => value.replaceAll('\r\n', '\n').trim());

describe('the forms that edit something', () => {
  it('keep what somebody else has changed in another field since they were shown', async () => {
    const few: string[] = [];
    const lost: string[] = [];
    for (const place of edited.values()) {
      const form = await openForm(place);
      const changes: Values = {};
      for (const control of form.controls.values()) {
        if (!mayTouch(place.action, control.name) || Object.keys(changes).length === 3) continue;
        for (const typed of candidates(control, form.values[control.name])) {
          const { status } = await post(form, { [control.name]: typed });
          expect([place.action, control.name, status]).not.toEqual([place.action, control.name, 409]);
          // A new secret is shown at once, without a redirect.
          if (status >= 400) continue;
          changes[control.name] = typed;
          break;
        }
      }
      const after = await openForm(place);
      for (const [name, values] of Object.entries(form.values)) {
        if (name === 'as_shown' || writeOnly.has(name)) continue;
        // Some lists are stored in an order of their own.
        const isList = form.controls.get(name)?.list !== undefined;
        const said = (given: readonly string[] = []): string =>
          isList
            ? unixOf(given)
                .flatMap((text) => text.split(/\n|, /))
                .toSorted()
                .join()
            : unixOf(given).join();
        const [expected, found] = [said(changes[name] ?? values), said(after.values[name])];
        if (found !== expected) lost.push(`${place.action} ${name}: ${found} instead of ${expected}`);
      }
      const changeable = [...form.controls.keys()].filter((name) => mayTouch(place.action, name)).length;
      if (Object.keys(changes).length < Math.min(2, changeable))
        few.push(`${place.action} ${Object.keys(changes).join()}`);
    }
    expect(lost).toEqual([]);
    expect(few).toEqual([]);
  });

  it('tell whoever comes second to the same text, keep what they typed, and save it when it is sent again', async () => {
    let texts = 0;
    for (const place of edited.values()) {
      const form = await openForm(place);
      const texty = (control: Control): boolean =>
        ['text', 'textarea', 'number', 'url'].includes(control.type) && control.list === undefined;
      const control = [...form.controls.values()].find(
        (each) => texty(each) && mayTouch(place.action, each.name),
      );
      if (control === undefined) continue;
      const { name } = control;
      const tried: Values[] = [];
      for (const typed of candidates(control, form.values[name])) {
        if ((await post(form, { [name]: typed })).status !== 303) continue;
        tried.push({ [name]: typed });
        break;
      }
      if (tried.length === 0) continue;
      const theirs = (await openForm(place)).values[name];
      const mine = candidates(control, theirs)
        .map((typed) => typed[0]!)
        .filter((typed) => typed !== theirs?.[0]);
      for (const typed of mine) {
        const late = await post(form, { [name]: [typed] });
        if (late.status === 400) continue;
        expect([place.action, name, late.status]).toEqual([place.action, name, 409]);
        expect(late.text).toMatch(
          /<div class="[^"]*overtaken" role="alert"[\s\S]*Somebody else has changed this/,
        );
        const again = pageForms(late.text).find(
          ({ action, values }) => action === form.action && 'as_shown' in values && name in values,
        )!;
        expect(unixOf(again.values[name])).toEqual(unixOf([typed]));
        expect((await openForm(place)).values[name]).toEqual(theirs);
        const { status } = await person.post(again.action, again.values);
        if (status === 400) continue;
        expect([place.action, name, status]).toEqual([place.action, name, 303]);
        expect(unixOf((await openForm(place)).values[name])).toEqual(unixOf([typed]));
        texts += 1;
        break;
      }
    }
    expect(texts).toBeGreaterThan(15);
  });

  it('never call a field saved that was emptied and says the same again', async () => {
    const same: string[] = [];
    let emptied = 0;
    for (const place of edited.values())
      for (const { name, type } of (await openForm(place)).controls.values()) {
        const form = await openForm(place);
        const before = form.values[name];
        if (['select', 'checkbox', 'password'].includes(type) || !mayTouch(place.action, name)) continue;
        if (['', '{}'].includes(before?.[0] ?? '')) continue;
        emptied += 1;
        const { status } = await post(form, { [name]: [''] });
        if (status >= 400) continue;
        const after = (await openForm(place)).values[name];
        if (JSON.stringify(after) === JSON.stringify(before)) same.push(`${place.action} ${name}`);
      }
    expect(emptied).toBeGreaterThan(30);
    expect(same).toEqual([]);
  });
});

describe('a list', () => {
  const both = async (path: string, name: string, first: string, second: string, before: string) => {
    const at = `/companies/${cast.company_id}${path}`;
    const open = async () => pageForms((await person.get(at)).text).find(({ values }) => name in values)!;
    const start = await open();
    expect((await post(start, { [name]: [before] })).status).toBe(303);
    const [one, two] = [await open(), await open()];
    expect((await post(one, { [name]: [first] })).status).toBe(303);
    expect((await post(two, { [name]: [second] })).status).toBe(303);
    return (await open()).values[name]![0]!.split(/[\r\n]+|, /).filter((item) => item !== '');
  };

  it('of hosts has what either added, and lacks what either removed', async () => {
    const [before, first, second] = [
      'a.example\nb.example\nc.example',
      'b.example\nc.example\nd.example',
      'a.example\nb.example\ne.example',
    ];
    expect(await both('/egress', 'hosts', first, second, before)).toEqual([
      'b.example',
      'd.example',
      'e.example',
    ]);
  });

  it('of tags the same', async () => {
    expect(await both('/settings', 'default_worker_tags', 'gpu, linux', 'arm', 'arm, gpu')).toEqual([
      'linux',
    ]);
  });

  it('with keys asks if both gave one a value', async () => {
    const project = `/projects/${stage.projectId!}`;
    const open = async () =>
      pageForms((await person.get(project)).text).find(({ values }) => 'env' in values)!;
    expect((await post(await open(), { env: ['MODE=a\nLEVEL=1'] })).status).toBe(303);
    const [one, two] = [await open(), await open()];
    expect((await post(one, { env: ['MODE=b\nLEVEL=1'] })).status).toBe(303);
    const late = await post(two, { env: ['MODE=c\nLEVEL=1'] });
    expect(late.status).toBe(409);
    expect(late.text).toContain('MODE&#61;b');
    expect((await post(two, { env: ['MODE=a\nLEVEL=2'] })).status).toBe(303);
    expect((await open()).values.env![0]!.split('\r\n').toSorted()).toEqual(['LEVEL=2', 'MODE=b']);
  });
});

it('a form may have more boxes than a person would tick one by one', async () => {
  const agent = Array.from({ length: 300 }, () => cast.other_agent_id);
  const { status } = await person.post(`/mcp-servers/${stage.serverId!}/agents`, { all: [''], agent });
  expect(status).not.toBe(413);
});

it('a form of somebody who was signed out meanwhile still changes only what they changed', async () => {
  const path = `/companies/${cast.company_id}/settings`;
  const form = pageForms((await person.get(path)).text).find(
    ({ values }) => 'slug' in values && 'as_shown' in values,
  )!;
  const anonymous = await new Browser(pages.app).post(path, { ...form.values, name: ['Typed for an hour'] });
  expect(anonymous.status).toBe(401);
  const kept = pageForms(anonymous.text).find(({ action }) => action === path)!;
  expect(kept.values.name).toEqual(['Typed for an hour']);
  const tags = { ...form.values, default_worker_tags: ['meanwhile'] };
  expect((await person.post(path, tags)).status).toBe(303);
  expect((await person.post(path, kept.values)).status).toBe(303);
  const after = pageForms((await person.get(path)).text).find(
    ({ values }) => 'slug' in values && 'as_shown' in values,
  )!;
  expect(after.values).toMatchObject({ name: ['Typed for an hour'], default_worker_tags: ['meanwhile'] });
});
