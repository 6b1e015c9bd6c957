/** A browser gets a page, with what was typed, whatever refuses its request before a page is asked. */
import { beforeAll, expect, it } from '@jest/globals';
import { newId } from '@acp/kernel';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, type Pages, startPages } from '../http/pages.ts';

const html = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const json = { Accept: 'application/json' };
const login = { email: 'ada@example.com', password: 'my-secret-word', next: '/issues/7' };

let pages: Pages;
let cast: Cast;

beforeAll(async () => {
  pages = await startPages();
  cast = await createCast(pages.database);
});

it('the limit of requests: the sign-in form comes back with all but the password, which is asked for again', async () => {
  const limited = new Browser((await startPages({ RATE_LIMIT_RPM: '1' })).app);
  await limited.get('/login', html);
  const refused = await limited.post('/login', login, html);
  expect([refused.status, refused.type]).toEqual([429, 'text/html']);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect(refused.text).toContain('<h1>Too many requests</h1>');
  expect(refused.text).toMatch(/Nothing was done. Try again in \d+ (?:s|min)\./);
  expect(refused.text).toMatch(/<form class="card" method="post" action="\/login">[^]*ada@example\.com/);
  expect(refused.text).toMatch(/<input[^>]* name="password"[^>]* type="password"/);
  expect(refused.text).toContain('<input type="hidden" name="next" value="/issues/7" />');
  expect(refused.text).not.toContain(login.password);
  const german = await limited.post('/login', login, { ...html, 'Accept-Language': 'de' });
  expect(german.text).toContain('<h1>Zu viele Anfragen</h1>');
  const page = await limited.get('/companies', html);
  expect([page.status, page.type]).toEqual([429, 'text/html']);
});

it('programs, and scripts of pages, are answered in JSON', async () => {
  const limited = new Browser((await startPages({ RATE_LIMIT_RPM: '1' })).app);
  await limited.get('/login');
  for (const headers of [json, { Accept: '*/*' }, { ...html, 'HX-Request': 'true' }]) {
    const refused = await limited.post('/login', login, headers);
    expect([refused.status, refused.body]).toEqual([429, { error: 'rate limit exceeded' }]);
  }
});

it('the rule on origins: nothing of what another site has written is repeated', async () => {
  const browser = Browser.of(pages.app, cast.admin);
  const path = `/companies/${cast.company_id}/issues/new`;
  const refused = await browser.post(
    path,
    { title: 'Put there' },
    { ...html, 'Sec-Fetch-Site': 'cross-site' },
  );
  expect([refused.status, refused.type]).toEqual([403, 'text/html']);
  expect(refused.text).toContain('cross-site request refused');
  expect(refused.text).not.toContain('Put there');
});

it('a body that is too large', async () => {
  const form = { ...login, email: 'a'.repeat(70_000) };
  const refused = await new Browser(pages.app).post('/login', form, html);
  expect([refused.status, refused.type]).toEqual([413, 'text/html']);
  expect(refused.text).toContain('<h1>That was too large</h1>');
});

it('the test of the instance’s providers without a scheduler', async () => {
  const browser = Browser.of(pages.app, cast.instance_admin);
  const path = '/admin/operations/providers/test';
  const refused = await browser.post(path, {}, html);
  expect([refused.status, refused.type]).toEqual([503, 'text/html']);
  expect(refused.text).toContain('Not available at the moment');
  expect(refused.text).toContain('action="/logout"');
  const program = await browser.post(path, {}, json);
  expect([program.status, program.type]).toEqual([503, 'application/json']);
});

it('a role that was lost, or something that was deleted, while the form was being filled in', async () => {
  const viewer = Browser.of(pages.app, cast.viewer);
  const path = `/companies/${cast.company_id}/secrets`;
  const refused = await viewer.post(path, { name: 'API_KEY', value: 'not-to-be-shown' }, html);
  expect([refused.status, refused.type]).toEqual([403, 'text/html']);
  expect(refused.text).toMatch(new RegExp(`action="${path}">[^]*API_KEY`));
  expect(refused.text).not.toContain('not-to-be-shown');
  const gone = await viewer.post(`/issues/${newId()}/delete`, { title: '/typed/for-an-hour' }, html);
  expect(gone.status).toBe(404);
  expect(gone.text).toMatch(/<textarea[^>]* name="title"[^>]*>\s*\/typed\/for-an-hour</);
});
