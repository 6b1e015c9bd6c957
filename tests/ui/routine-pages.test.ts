/**
 * The pages of routines: write, schedule, sign, fire, promote.
 * @in-order from a company without routines on
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Express } from 'express';
import request from 'supertest';
import type { Database } from '@acp/db';
import { hmacSha256Hex } from '@acp/kernel';
import { nextInstant } from '@acp/testkit';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, PUBLIC_URL, startPages } from '../http/pages.ts';

let app: Express;
/** The same company, served without an encryption key. */
let keyless: Express;
let cast: Cast;
let database: Database;

beforeAll(async () => {
  const pages = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) });
  ({ app, database } = pages);
  cast = await createCast(database);
  ({ app: keyless } = await startPages());
});

const list = () => `/companies/${cast.company_id}/routines`;
const pathOf = (location: string) => location.split('?')[0]!;
/** Text of a page, without markup and the space between. */
const said = (text: string) =>
  text
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Decodes an attribute value like a browser. */
const address = (attribute: string) => attribute.replaceAll('&#61;', '=').replaceAll('&#38;', '&');

async function make(fields: Record<string, string> = {}): Promise<string> {
  const made = await Browser.of(app, cast.member).post(`${list()}/new`, { name: 'Weekly report', ...fields });
  expect(made.status).toBe(303);
  return pathOf(made.headers.location!);
}

/** Adds a trigger through its form. @returns the response, the trigger from the API, and the secret that was shown */
async function add(routine: string, fields: Record<string, string>) {
  const member = Browser.of(app, cast.member);
  const answer = await member.post(`${routine}/triggers`, fields);
  const { body } = await member.api('get', `/api${routine}/triggers`);
  const [trigger] = body as { id: string; public_id: string; signing_mode: string; enabled: boolean }[];
  return { answer, trigger: trigger!, secret: secretIn(answer.text) };
}

const secretIn = (text: string): string | undefined =>
  /shown only once:<\/p>\s*<code>([^<]+)<\/code>/.exec(text)?.[1];

const call = (public_id: string, body: string, headers: Record<string, string>) =>
  request(app)
    .post(`/api/routine-triggers/public/${public_id}/fire`)
    .set('Content-Type', 'application/octet-stream')
    .set(headers)
    .send(Buffer.from(body));

describe('the list of routines', () => {
  it('says what to do while there is none, and to a viewer without a button', async () => {
    const { company_id } = cast;
    const empty = `/companies/${company_id}/routines?archived=yes`;
    expect(said((await Browser.of(app, cast.member).get(empty)).text)).toContain('No archived routines');
    const member = (await Browser.of(app, cast.member).get(list())).text;
    expect(member).toContain('No routines yet');
    expect(member).toContain(`href="${list()}/new"`);
    const viewer = (await Browser.of(app, cast.viewer).get(list())).text;
    expect(viewer).toContain('No routines yet');
    expect(viewer).not.toContain(`${list()}/new`);
  });

  it('tells of each its state, its agent, and when it fires and has fired; archived ones stand apart', async () => {
    const member = Browser.of(app, cast.member);
    const here = await make({ name: 'Counted', assignee_agent_id: cast.agent_id });
    await add(here, { kind: 'schedule', cron_expression: '0 9 * * 1', timezone: 'UTC' });
    const row = () =>
      member
        .get(list())
        .then(({ text }) =>
          said(/<tr[^>]*>(?:(?!<\/tr>)[\s\S])*Counted[\s\S]*?<\/tr>/.exec(text)?.[0] ?? ''),
        );
    expect(await row()).toMatch(
      /^Counted active \S.* in \d+ (?:d|h|min|s) · \d+ \w+(?: \d{4})?, 09:00 UTC never$/,
    );
    await member.post(`${here}/fire`);
    await member.post(`${here}/status`, { status: 'paused' });
    expect(await row()).toMatch(/^Counted paused \S.* no schedule just now$/);
    await member.post(`${here}/status`, { status: 'archived' });
    expect(await row()).toBe('');
    expect((await member.get(`${list()}?archived=yes`)).text).toContain('Counted');
  });
});

describe('a routine', () => {
  const all = {
    name: 'Stock check',
    description: '**Why** it is done',
    title_template: 'Count {{payload.shelf}}',
    body_template: 'By {{now}}',
    priority: 'high',
    status: 'paused',
    concurrency_policy: 'skip_if_active',
  };

  it('is written with all that it has, shown, changed, and moved to the trash', async () => {
    const member = Browser.of(app, cast.member);
    const here = await make({ ...all, assignee_agent_id: cast.agent_id });
    const { body } = await member.api('get', `/api${here}`);
    expect(body).toMatchObject({ ...all, assignee_agent_id: cast.agent_id, project_id: null, goal_id: null });
    const { text } = await member.get(here);
    expect(text).toContain('<strong>Why</strong>');
    expect(text).toContain('Count {{payload.shelf}}');
    expect(said(text)).toContain('The routine is paused: no trigger fires it.');
    const form = (await member.get(`${here}/edit`)).text;
    expect(form).toMatch(/<option value="skip_if_active"\s+selected/);
    const changed = { ...all, name: 'Stock count', status: 'active', description: '', assignee_agent_id: '' };
    expect((await member.post(`${here}/edit`, changed)).headers.location).toBe(`${here}?done=changed`);
    const after = await member.api('get', `/api${here}`);
    expect(after.body).toMatchObject({ name: 'Stock count', description: null, assignee_agent_id: null });
    const gone = await member.post(`${here}/delete`);
    expect(gone.headers.location).toBe(`${list()}?done=deleted`);
    expect((await member.get(here)).status).toBe(404);
  });

  it('without a title of its own is the title of its issues', async () => {
    const here = await make({ name: 'Water the plants', title_template: '' });
    const { body } = await Browser.of(app, cast.member).api('get', `/api${here}`);
    expect(body).toMatchObject({
      title_template: 'Water the plants',
      concurrency_policy: 'coalesce_if_active',
    });
  });

  it.each<[string, Record<string, string>, string]>([
    ['name', { name: '' }, 'May not be empty.'],
    ['assignee_agent_id', { assignee_agent_id: 'other' }, 'Unknown agent.'],
    ['project_id', { project_id: '00000000-0000-4000-8000-000000000000' }, 'Unknown project.'],
  ])('is refused beside the field %s, with what was typed', async (field, wrong, message) => {
    const named = field === 'assignee_agent_id' ? { [field]: cast.other_agent_id } : wrong;
    const refused = await Browser.of(app, cast.member).post(`${list()}/new`, { ...all, ...named });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(`id="e-${field}" role="alert">${message}</p>`);
    expect(refused.text).toContain('Count {{payload.shelf}}');
  });

  it('shows a viewer what it is and what fires it, without a form or the URL of its webhook', async () => {
    const here = await make({ name: 'Looked at' });
    const { trigger } = await add(here, { kind: 'webhook', signing_mode: 'none', label: 'From the shop' });
    const member = (await Browser.of(app, cast.member).get(here)).text;
    expect(member).toContain(`${PUBLIC_URL}/api/routine-triggers/public/${trigger.public_id}/fire`);
    const admin = (await Browser.of(app, cast.admin).get(here)).text;
    expect(admin).not.toContain(trigger.public_id);
    expect(said(admin)).toContain('The URL is shown only to whoever created it.');
    const { status, text } = await Browser.of(app, cast.viewer).get(here);
    expect(status).toBe(200);
    expect(text).toContain('From the shop');
    expect(text).not.toContain(trigger.public_id);
    const main = /<main[\s\S]*<\/main>/.exec(text)![0];
    expect(main).not.toMatch(/<form|<button|class="button/);
    expect((await Browser.of(app, cast.viewer).post(`${here}/fire`)).status).toBe(403);
    expect((await Browser.of(app, cast.viewer).get(`${here}/edit`)).status).toBe(403);
  });
});

describe('a fire by hand', () => {
  it('makes an issue, then a comment on it, and each is a row that leads there', async () => {
    const member = Browser.of(app, cast.member);
    const here = await make({ name: 'Sweep', title_template: 'Sweep {{payload.room}}' });
    const first = await member.post(`${here}/fire`, { payload: '{"room": "hall"}' });
    expect(first.headers.location).toMatch(/\?done=enqueued&issue=/);
    // What was done leads to what came of it.
    expect((await member.get(first.headers.location!)).text).toMatch(
      /there is a new issue\. <a[^>]* href="\/issues\/[0-9a-f-]{36}"/,
    );
    await nextInstant();
    const second = await member.post(`${here}/fire`);
    expect(second.headers.location).toContain(`${here}?done=coalesced&issue=`);
    const { text } = await member.get(second.headers.location!);
    expect(said(text)).toContain('Fired: its open issue has a comment about it');
    const [link] = /\/issues\/[0-9a-f-]{36}/.exec(text)!;
    expect((await member.get(link)).text).toContain('Sweep hall</h1>');
    expect(said((await member.get(`${here}/part/runs`)).text)).toMatch(
      /Sweep hall coalesced by hand .* Sweep hall enqueued by hand/,
    );
    expect(said((await member.get(`${here}/part/facts`)).text)).toMatch(/Last fired (just now|\d+ s ago)/);
    await member.api('delete', `/api${link}`);
    expect((await member.get(here)).text).not.toContain(link);
    expect(said((await member.get(`${here}/part/runs`)).text)).toContain('deleted coalesced');
  });

  it('leads to the newest run on its issue, and says how that goes', async () => {
    const member = Browser.of(app, cast.member);
    const here = await make({ name: 'Run', assignee_agent_id: cast.agent_id });
    await member.post(`${here}/fire`);
    const [issue] = /\/issues\/[0-9a-f-]{36}/.exec((await member.get(here)).text)!;
    expect((await member.get(here)).text).not.toContain('href="/runs/');
    expect((await member.post(`${issue}/trigger`)).status).toBe(303);
    const { text } = await member.get(here);
    const [, run] = /href="(\/runs\/[0-9a-f-]{36})">\s*<span class="status" data-status="queued"/.exec(text)!;
    expect((await member.get(run!)).text).toContain(`href="${issue}"`);
  });

  it('that is on a later page of them stays there when the page renews itself', async () => {
    const member = Browser.of(app, cast.member);
    const here = await make({ name: 'Often', concurrency_policy: 'skip_if_active' });
    for (let fire = 1; fire <= 21; fire += 1) {
      await member.post(`${here}/fire`, { payload: `"fire ${fire}."` });
      // The first one is alone on the second page.
      if (fire === 1) await nextInstant();
    }
    const first = (await member.get(here)).text;
    expect(first).not.toContain('fire 1.');
    const [, older] = /href="([^"]+)">Older fires/.exec(first)!;
    const second = (await member.get(address(older!))).text;
    expect(second).toContain('fire 1.');
    const [, source] = /data-live="issues comments runs" data-source="([^"]+)"/.exec(second)!;
    const renewed = (await member.get(address(source!))).text;
    expect(renewed).toContain('fire 1.');
    expect(renewed).not.toContain('fire 21.');
    // The first page takes its link along: after another fire it leads one entry earlier.
    const [, newest] = /data-live="issues comments runs" data-source="([^"]+)"/.exec(first)!;
    expect((await member.get(address(newest!))).text).toContain(`href="${older}">Older fires`);
  });

  it('with a payload that is no JSON is refused beside it, and one of a paused routine above the page', async () => {
    const member = Browser.of(app, cast.member);
    const here = await make({ name: 'Refused' });
    const wrong = await member.post(`${here}/fire`, { payload: '{room' });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toMatch(/id="e-payload" role="alert">Is not valid JSON\./);
    expect(wrong.text).toMatch(/<textarea[^>]*name="payload"[^>]*>\s*\{room<\/textarea>/);
    await member.post(`${here}/status`, { status: 'paused' });
    const paused = await member.post(`${here}/fire`);
    expect(paused.status).toBe(409);
    expect(paused.text).toContain('The routine is paused.');
    expect((await member.get(here)).text).not.toContain('Fire now');
  });
});

describe('a schedule', () => {
  it('shows its next five fires on the clock of its zone, and none while it is off', async () => {
    const member = Browser.of(app, cast.member);
    const here = await make({ name: 'Monday' });
    const { answer, trigger } = await add(here, {
      kind: 'schedule',
      cron_expression: '30 9 * * 1',
      timezone: 'Asia/Tokyo',
      label: 'Start of the week',
    });
    expect(answer.headers.location).toBe(`${here}?done=trigger`);
    const fires = async () =>
      (await member.get(here)).text.match(/<li>\s*Mon, \d+ \w+ \d{4}, 09:30 GMT\+9/g) ?? [];
    expect(new Set(await fires()).size).toBe(5);
    const path = `/routine-triggers/${trigger.id}`;
    await member.post(`${path}/enabled`, { enabled: '' });
    expect(await fires()).toEqual([]);
    await member.post(`${path}/enabled`, { enabled: 'on' });
    expect(await fires()).toHaveLength(5);
    await member.post(path, { label: '', cron_expression: '0 9 * * 2', timezone: 'UTC' });
    expect(await fires()).toEqual([]);
    expect((await member.get(here)).text.match(/<li>\s*Tue, /g)).toHaveLength(5);
    expect((await member.post(`${path}/delete`)).headers.location).toBe(`${here}?done=removed`);
    expect((await member.get(here)).text).not.toContain('Tue, ');
  });

  it.each([
    ['cron_expression', { cron_expression: '@daily' }, 'Five fields are required.'],
    ['cron_expression', { cron_expression: '' }, 'May not be empty.'],
    ['cron_expression', { cron_expression: '0 0 31 2 *' }, 'No month has such a day.'],
    ['cron_expression', { cron_expression: '61 0 * * *' }, 'A number is beyond the range of its field.'],
    ['cron_expression', { cron_expression: '0 5-2 * * *' }, 'A range ends before it begins.'],
    ['timezone', { timezone: 'Atlantis/Deep' }, 'Unknown time zone.'],
  ])('is refused beside its %s, new or changed', async (field, wrong, message) => {
    const member = Browser.of(app, cast.member);
    const here = await make({ name: 'Wrong' });
    const right = { kind: 'schedule', cron_expression: '5 4 * * *', timezone: 'UTC', label: 'Kept' };
    const refused = await member.post(`${here}/triggers`, { ...right, ...wrong });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(`id="e-${field}-schedule" role="alert">${message}</p>`);
    expect(refused.text).toMatch(/id="f-label-schedule"[^>]*value="Kept"/);
    const { trigger } = await add(here, right);
    const unchanged = await member.post(`/routine-triggers/${trigger.id}`, { ...right, ...wrong });
    expect(unchanged.status).toBe(400);
    expect(unchanged.text).toContain(`id="e-${field}-${trigger.id}" role="alert">${message}</p>`);
    expect(unchanged.text).toMatch(/<details class="edit"\s+open>\s*<summary>Change/);
  });
});

it('a schedule in a zone that is known no more says so on a page that is there to mend it', async () => {
  const here = await make({ name: 'Moved clocks' });
  const { trigger } = await add(here, { kind: 'schedule', cron_expression: '0 9 * * 1', timezone: 'UTC' });
  await database.pool.query(`update routine_triggers set timezone = 'Atlantis/Deep' where id = $1`, [
    trigger.id,
  ]);
  const { status, text } = await Browser.of(app, cast.member).get(here);
  expect(status).toBe(200);
  expect(text).toMatch(/role="alert">Unknown time zone\./);
  const mended = await Browser.of(app, cast.member).post(`/routine-triggers/${trigger.id}`, {
    cron_expression: '0 9 * * 1',
    timezone: 'UTC',
  });
  expect(mended.headers.location).toBe(`${here}?done=changed`);
  expect((await Browser.of(app, cast.member).get(here)).text.match(/<li>\s*Mon, /g)).toHaveLength(5);
});

it('a schedule is said in words while it is written, with when it fires', async () => {
  const told = async (cron_expression: string, timezone: string) =>
    (
      await Browser.of(app, cast.member).get(
        `/schedules/part/said?${new URLSearchParams({ cron_expression, timezone }).toString()}`,
      )
    ).text;
  const weekdays = await told('30 8 * * 1-5', 'Europe/Berlin');
  expect(weekdays).toContain('At 08:30, Monday through Friday');
  expect(weekdays.match(/<li>[^<]* at 08:30|<li>[^<]*08:30/g)).toHaveLength(5);
  expect(await told('61 * * * *', 'UTC')).toContain('role="alert"');
  expect(await told('0 9 * * 1', 'Mars/Base')).toContain('Unknown time zone');
  expect(await told('', '')).toBe('');
});

describe('a webhook', () => {
  it('shows its secret once, and takes what is signed with it', async () => {
    const here = await make({ name: 'Signed' });
    const { trigger, secret } = await add(here, { kind: 'webhook', signing_mode: 'hmac' });
    expect(secret).toMatch(/^\S{20,}$/);
    expect((await Browser.of(app, cast.member).get(here)).text).not.toContain(secret);
    const sign = { 'X-Service-Signature': hmacSha256Hex(secret!, Buffer.from('a')) };
    expect((await call(trigger.public_id, 'a', sign)).status).toBe(200);
    expect((await call(trigger.public_id, 'b', sign)).status).toBe(401);
  });

  it('is signed with the time from here alone: made so, or set so while its secret stays', async () => {
    const member = Browser.of(app, cast.member);
    const here = await make({ name: 'Timed' });
    const now = String(Math.floor(Date.now() / 1000));
    const timed = (secret: string, body: string) => ({
      'X-Service-Timestamp': now,
      'X-Service-Signature': hmacSha256Hex(secret, Buffer.from(`${now}.${body}`)),
    });
    const made = await add(here, { kind: 'webhook', signing_mode: 'hmac_ts' });
    expect(made.trigger.signing_mode).toBe('hmac_ts');
    expect((await call(made.trigger.public_id, 'a', timed(made.secret!, 'a'))).status).toBe(200);
    const plain = await add(here, { kind: 'webhook', signing_mode: 'none' });
    expect(plain.answer.headers.location).toBe(`${here}?done=trigger`);
    const path = `/routine-triggers/${plain.trigger.id}/signing-mode`;
    const first = await member.post(path, { signing_mode: 'hmac' });
    const secret = secretIn(first.text)!;
    const second = await member.post(path, { signing_mode: 'hmac_ts' });
    expect(second.headers.location).toBe(`${here}?done=signing`);
    expect((await call(plain.trigger.public_id, 'b', timed(secret, 'b'))).status).toBe(200);
    await member.post(path, { signing_mode: 'none' });
    // Signed, its address was shown to everyone.
    expect((await call(plain.trigger.public_id, 'c', {})).status).toBe(404);
    const { body } = await member.api('get', `/api${here}/triggers`);
    const [{ public_id }] = body as [{ public_id: string }];
    expect((await call(public_id, 'c', {})).status).toBe(200);
    expect((await member.post(path, { signing_mode: 'md5' })).status).toBe(400);
  });

  it('gets a new secret and a new URL, and the old ones stop at once', async () => {
    const member = Browser.of(app, cast.member);
    const here = await make({ name: 'Rotated' });
    const { trigger, secret } = await add(here, { kind: 'webhook', signing_mode: 'hmac' });
    const path = `/routine-triggers/${trigger.id}`;
    const fresh = secretIn((await member.post(`${path}/rotate-secret`)).text)!;
    expect(fresh).not.toBe(secret);
    const sign = (with_secret: string) => ({
      'X-Service-Signature': hmacSha256Hex(with_secret, Buffer.from('x')),
    });
    expect((await call(trigger.public_id, 'x', sign(secret!))).status).toBe(401);
    expect((await call(trigger.public_id, 'x', sign(fresh))).status).toBe(200);
    const moved = await member.post(`${path}/rotate-url`);
    expect(moved.headers.location).toBe(`${here}?done=url`);
    expect((await call(trigger.public_id, 'y', {})).status).toBe(404);
    expect((await member.get(here)).text).not.toContain(trigger.public_id);
  });

  it('takes another window for repetitions, is switched off, and is removed', async () => {
    const member = Browser.of(app, cast.member);
    const here = await make({ name: 'Windowed' });
    const { trigger } = await add(here, { kind: 'webhook', signing_mode: 'none' });
    const path = `/routine-triggers/${trigger.id}`;
    const wrong = await member.post(path, { label: '', replay_window_sec: '-1' });
    expect(wrong.text).toContain(
      `id="e-replay_window_sec-${trigger.id}" role="alert">Must be 0 or more.</p>`,
    );
    await member.post(path, { label: 'Shop', replay_window_sec: '0' });
    expect(said((await member.get(here)).text)).toContain('The same body may be sent again at any time.');
    await member.post(`${path}/enabled`, { enabled: '' });
    expect((await call(trigger.public_id, 'z', {})).status).toBe(404);
    await member.post(`${path}/delete`);
    expect((await member.get(here)).text).toContain('Only people and agents can fire it.');
  });

  it('is offered no signature where no key could keep its secret', async () => {
    const here = await make({ name: 'Keyless' });
    const { text } = await Browser.of(keyless, cast.member).get(here);
    expect(text).toContain('Signing needs SERVICE_ENCRYPTION_KEY');
    expect(text).not.toContain('<option value="hmac"');
    expect((await Browser.of(app, cast.member).get(here)).text).toContain('<option value="hmac"');
  });
});

describe('an issue', () => {
  const newIssue = async () => {
    const fields = { title: 'Write the newsletter', body_markdown: 'Three stories.', priority: 'low' };
    const made = await Browser.of(app, cast.member).post(`/companies/${cast.company_id}/issues/new`, fields);
    return made.headers.location!;
  };

  it('becomes a routine by its own form, which a viewer does not see', async () => {
    const member = Browser.of(app, cast.member);
    const issue = await newIssue();
    expect((await member.get(issue)).text).toContain(`action="${issue}/promote-routine"`);
    expect((await Browser.of(app, cast.viewer).get(issue)).text).not.toContain('promote-routine');
    const made = await member.post(`${issue}/promote-routine`, {
      name: '',
      cron_expression: '0 8 1 * *',
      timezone: 'Europe/Berlin',
    });
    const here = pathOf(made.headers.location!);
    const { body } = await member.api('get', `/api${here}`);
    expect(body).toMatchObject({
      name: 'Write the newsletter',
      body_template: 'Three stories.',
      priority: 'low',
    });
    const { text } = await member.get(made.headers.location!);
    expect(text).toContain('The issue has become a routine');
    expect(text.match(/<li>\s*\w+, 1 \w+ \d{4}, 08:00/g)).toHaveLength(5);
  });

  it('with a schedule that is none is refused beside it', async () => {
    const issue = await newIssue();
    const refused = await Browser.of(app, cast.member).post(`${issue}/promote-routine`, {
      name: 'Newsletter',
      cron_expression: 'daily',
      timezone: 'UTC',
    });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(
      'id="e-cron_expression-promote" role="alert">Five fields are required.</p>',
    );
    expect(refused.text).toMatch(/id="f-name-promote"[^>]*value="Newsletter"/);
    expect(refused.text).toMatch(/<details class="card"\s+open>/);
  });
});

it('a routine says that the agent it gives its issues to is paused', async () => {
  const { agent_id } = cast;
  const here = await make({ assignee_agent_id: agent_id });
  const member = Browser.of(app, cast.member);
  const agent = async () =>
    new RegExp(`href="/agents/${agent_id}">([^<]+)<`).exec((await member.get(here)).text)?.[1];
  const before = await agent();
  await member.post(`/agents/${agent_id}/pause`, { reason: '' });
  expect(await agent()).toBe(`${before}, paused`);
  await member.post(`/agents/${agent_id}/resume`, {});
  expect(await agent()).toBe(before);
});
