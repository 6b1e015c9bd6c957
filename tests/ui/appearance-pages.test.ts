/**
 * A person’s display preferences: stored by the API, applied to every page from the next one on.
 * @in-order each test goes on with what was chosen before
 */
import { beforeAll, expect, it } from '@jest/globals';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, type Pages, startPages } from '../http/pages.ts';

let pages: Pages;
let cast: Cast;
let member: Browser;

beforeAll(async () => {
  pages = await startPages();
  cast = await createCast(pages.database);
  member = Browser.of(pages.app, cast.member);
});

const rootOf = (text: string): string => /<html[^>]*>/.exec(text)![0];

it('is nothing at first, then what was chosen, on every page of that person alone', async () => {
  const here = `/companies/${cast.company_id}/board`;
  expect(rootOf((await member.get(here)).text)).toBe('<html lang="en">');
  const sent = { theme: 'dark', density: 'compact', time_zone: 'Asia/Kolkata' };
  const saved = await member.post('/profile/appearance', sent);
  expect([saved.status, saved.headers.location]).toEqual([303, '/profile/appearance?saved=1']);
  const chosen = '<html lang="en" data-scheme="dark" data-density="compact" data-zone="Asia/Kolkata">';
  // Other processes are notified; in this one the cache is cleared explicitly.
  pages.forget();
  expect(rootOf((await member.get(here)).text)).toBe(chosen);
  expect(rootOf((await Browser.of(pages.app, cast.viewer).get(here)).text)).toBe('<html lang="en">');
  expect((await member.api('get', '/api/me/preferences')).body).toEqual(sent);
});

it('the zone is named where the exact time matters, and is UTC for those who chose none', async () => {
  const here = `/companies/${cast.company_id}/activity`;
  expect((await member.get(here)).text).toMatch(/· \d+ \w+, \d\d:\d\d:\d\d GMT\+5:30</);
  const viewer = Browser.of(pages.app, cast.viewer);
  expect((await viewer.get(here)).text).toMatch(/· \d+ \w+, \d\d:\d\d:\d\d UTC</);
});

it('the zone is that of a schedule that an issue is given', async () => {
  const issue = await member.api('post', `/api/companies/${cast.company_id}/issues`, { title: 'Weekly' });
  const { text } = await member.get(`/issues/${(issue.body as { id: string }).id}`);
  expect(text).toMatch(/id="f-timezone-promote"[^>]*value="Asia\/Kolkata"/);
});

it('takes one back, leaves the others, and refuses a zone that is none', async () => {
  const changed = await member.api('patch', '/api/me/preferences', { theme: null });
  expect(changed.body).toEqual({ density: 'compact', time_zone: 'Asia/Kolkata' });
  const refused = await member.api('patch', '/api/me/preferences', { time_zone: 'Mars/Base' });
  expect([refused.status, refused.body.error]).toEqual([400, 'time_zone: unknown time zone']);
  const form = await member.post('/profile/appearance', {
    theme: 'dark',
    density: '',
    time_zone: 'Mars/Base',
  });
  expect(form.text).toMatch(/id="f-time_zone"[^>]*value="Mars\/Base"/);
  expect((await member.api('get', '/api/me/preferences')).body).toEqual(changed.body);
});

it('a language: the browser’s until one is chosen, and what people wrote stays as it is', async () => {
  const viewer = Browser.of(pages.app, cast.viewer);
  const here = `/companies/${cast.company_id}`;
  const german = { 'Accept-Language': 'fr, de-AT;q=0.8, en;q=0.5' };
  const browsers = await viewer.get(here, german);
  expect(rootOf(browsers.text)).toBe('<html lang="de">');
  expect([browsers.headers['content-language'], browsers.headers.vary]).toEqual([
    'de',
    expect.stringContaining('Accept-Language'),
  ]);
  expect(browsers.text).toMatch(/<nav class="account"[\s\S]*Abmelden/);
  expect((await new Browser(pages.app).get('/login', german)).text).toContain('<html lang="de">');
  await viewer.post('/profile/appearance', { language: 'en' });
  pages.forget();
  expect((await viewer.get(here, german)).text).toContain('Sign out');
  await viewer.post('/profile/appearance', { language: 'de' });
  pages.forget();
  const form = await viewer.get('/profile/appearance');
  expect(form.text).toMatch(/<option value="de"\s+selected[^>]*>\s*Deutsch/);
  expect(form.text).toContain('<title>Darstellung');
  const notes = await Browser.of(pages.app, cast.admin).api(
    'post',
    `/api/companies/${cast.company_id}/issues`,
    {
      title: 'Settings',
    },
  );
  expect((await viewer.get(`/issues/${notes.body.id}`)).text).toMatch(/<h1[^>]*>[^<]*Settings</);
  expect((await viewer.get(`/issues/${cast.company_id}`)).text).toContain('Hier gibt es nichts');
  const unknown = await viewer.api('patch', '/api/me/preferences', { language: '../x' });
  expect(unknown.status).toBe(400);
  expect((await viewer.api('patch', '/api/me/preferences', { language: 'fr' })).body).toEqual({
    language: 'fr',
  });
  pages.forget();
  expect(rootOf((await viewer.get(here)).text)).toBe('<html lang="en">');
  await viewer.api('patch', '/api/me/preferences', { language: null });
  pages.forget();
});

it('a new schedule begins with the zone', async () => {
  const routine = await Browser.of(pages.app, cast.admin).api(
    'post',
    `/api/companies/${cast.company_id}/routines`,
    {
      name: 'Weekly',
    },
  );
  pages.forget();
  const { text } = await member.get(`/routines/${routine.body.id}`);
  expect(text).toMatch(/id="f-timezone-schedule"[^>]*value="Asia\/Kolkata"/);
});
