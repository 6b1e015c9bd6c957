import { expect, it } from '@jest/globals';
import { createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

it('invites of one role and minute are told apart by their links, exact times and ends', async () => {
  const { app, database } = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) });
  const cast = await createCast(database);
  const admin = Browser.of(app, cast.admin);
  const invites = `/companies/${cast.company_id}/members/invites`;
  const make = async (): Promise<string> => {
    const { text } = await admin.post(invites, { role: 'viewer', expires_in_hours: '5' });
    return /\/invites\/([\w-]{43})<\/code>/.exec(text)![1]!;
  };
  const tokens = [await make(), await make()].toReversed();
  const { text } = await admin.get(invites);
  const codes = [...text.matchAll(/<code>([^<]+)…<\/code>/g)].map(([, code]) => code);
  expect(codes).toEqual(tokens.map((token) => token.slice(0, 6)));
  expect(text).not.toContain(tokens[0]);
  expect(text).toContain(`Take the invite ${codes[1]!}… back?`);
  expect(text.match(/· \d+ \w+(?: \d{4})?, \d\d:\d\d:\d\d UTC</g)).toHaveLength(2);
  expect(text.match(/· \d+ \w+(?: \d{4})?, \d\d:\d\d UTC</g)).toHaveLength(2);
  const seen = await Browser.of(app, cast.viewer).get(invites);
  expect(seen.text).not.toContain(codes[0]);
  expect(new Set(seen.text.match(/<code>[\da-f]{8}<\/code>/g)).size).toBe(2);
});

it('an invite says in the reader’s words what is wrong with what was typed, and counts attempts in any language', async () => {
  const { app, database } = await startPages();
  const cast = await createCast(database);
  const invites = `/companies/${cast.company_id}/members/invites`;
  const { text } = await Browser.of(app, cast.admin).post(invites, {
    role: 'member',
    expires_in_hours: '5',
  });
  const [, path] = /(\/invites\/[\w-]+)<\/code>/.exec(text)!;
  const newcomer = new Browser(app);
  const join = async (language: string, display_name: string, email = 'new@test.example') =>
    newcomer.post(
      path!,
      { display_name, email, password: 'correct horse battery' },
      { 'Accept-Language': language },
    );
  const errorIn = ({ text: page }: { text: string }): string =>
    /<p class="error" role="alert">([^<]*)</.exec(page)![1]!;
  const long = 'x'.repeat(201);
  expect(errorIn(await join('en', long))).toBe('Name: Can have at most 200 characters.');
  expect(errorIn(await join('de', long))).toBe('Name: Fasst höchstens 200 Zeichen.');
  expect(errorIn(await join('en', 'Ada', 'nowhere'))).toBe('E-mail: Must be an e-mail address.');
  expect((await newcomer.get(path!, { 'Accept-Language': 'de' })).text).toContain('mit der Rolle Mitglied');
  const { body } = await Browser.of(app, cast.admin).api('get', '/api/me');
  const { email } = body as { email: string };
  const answers: number[] = [];
  for (const language of ['en', 'de', 'en', 'de', 'en', 'de'])
    answers.push((await join(language, 'Ada', email)).status);
  expect(answers).toEqual([409, 409, 409, 409, 409, 429]);
  expect(errorIn(await join('en', 'Ada', email))).toMatch(/^too many .+\. Try again in \d+ min\.$/);
  expect(errorIn(await join('de', 'Ada', email))).toMatch(/^zu viele .+ \d+ min erneut\.$/i);
});

it('a form for people without a session begins where something is missing, and says how long it waits', async () => {
  const { app } = await startPages();
  const browser = new Browser(app);
  const focused = (text: string) =>
    [...text.matchAll(/name="(\w+)"[^>]*\sautofocus/g)].map(([, name]) => name);
  expect(focused((await browser.get('/login')).text)).toEqual(['email']);
  const form = { email: 'ada@test.example', password: 'nothing like it' };
  for (let attempt = 0; attempt < 5; attempt++)
    expect(focused((await browser.post('/login', form)).text)).toEqual(['password']);
  const { status, text } = await browser.post('/login', form);
  expect([status, focused(text)]).toEqual([429, ['password']]);
  expect(text).toMatch(
    /too many failed logins; try again later\. Nothing was done\. Try again in \d+ min\./i,
  );
});
