/** What a person prefers: kept by the API, seen on every page from the next one on. */
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
  // Other processes hear of it by a notification; this one does by then.
  pages.forget();
  expect(rootOf((await member.get(here)).text)).toBe(chosen);
  expect(rootOf((await Browser.of(pages.app, cast.viewer).get(here)).text)).toBe('<html lang="en">');
  expect((await member.api('get', '/api/me/preferences')).body).toEqual(sent);
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
