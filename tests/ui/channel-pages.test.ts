/** @in-order from a company without channels on */
import { beforeAll, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { pairIdentity } from '@acp/core';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { pageForms } from '../http/page-forms.ts';
import { Browser, startPages } from '../http/pages.ts';

const { channels, chat_pairings, secrets } = schema;

let app: Express;
let database: Database;
let cast: Cast;
let list: string;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
  list = `/companies/${cast.company_id}/channels`;
  await database.db
    .insert(secrets)
    .values({ company_id: cast.company_id, name: 'BOT_TOKEN', sealed: 'never opened' });
});

const form = {
  name: 'support',
  kind: 'telegram',
  bot_token: 'BOT_TOKEN',
  app_token: '',
  default_agent_id: '',
  groups: '',
};

async function made(name: string): Promise<string> {
  const { headers } = await Browser.of(app, cast.admin).post(list, { ...form, name });
  return headers.location!.split('?')[0]!;
}
const rowOf = async (path: string) => {
  const [row] = await database.db
    .select()
    .from(channels)
    .where(eq(channels.id, path.split('/').at(-1)!));
  return row!;
};

it('an admin adds a channel by the names of secrets, sees its state and what to mend, and deletes it', async () => {
  const admin = Browser.of(app, cast.admin);
  expect((await admin.get(list)).text).toContain('No channels yet');
  const refused = await admin.post(list, { ...form, kind: 'slack' });
  expect(refused.text).toContain('socket mode needs one');
  expect(refused.text).toContain('value="support"');
  const path = await made('support');
  expect(await rowOf(path)).toMatchObject({ bot_token: '${secret:BOT_TOKEN}', knowledge: [] });
  await database.db
    .update(channels)
    .set({ status: 'refused', last_error: 'it answered 401', failing_since: new Date() });
  const { text } = await admin.get(path);
  expect(text).toContain('it answered 401');
  expect(text).toContain('fix the problem shown below');
  expect(text).toContain(`data-source="${path}/part/state"`);
  // The part asks again until the channel is connected.
  expect((await admin.get(`${path}/part/state`)).text).toContain('<p data-awaits>');
  await database.db.update(channels).set({ status: 'connected', last_error: null, failing_since: null });
  const connected = (await admin.get(`${path}/part/state`)).text;
  expect(connected).toContain('It is connected');
  expect(connected).not.toContain('data-awaits');
  await admin.post(`${path}/enabled`, { enabled: '' });
  expect((await rowOf(path)).enabled).toBe(false);
  expect((await admin.post(`${path}/delete`, {})).headers.location).toBe(`${list}?done=deleted`);
  expect((await admin.get(path)).status).toBe(404);
});

it('what its prompts may hold is ticked there; a group in which it was spoken to is let in by a click', async () => {
  const admin = Browser.of(app, cast.admin);
  const path = await made('ticked');
  await admin.post(`${path}/knowledge`, { note: 'on', index: 'on', document: '' });
  expect((await rowOf(path)).knowledge).toEqual(['note', 'index']);
  await database.db.update(channels).set({ refused_groups: [{ id: '-77', title: 'Sales <b>' }] });
  expect((await admin.get(path)).text).toContain('Sales &#60;b&#62;');
  await admin.post(`${path}/groups`, { group: '-77' });
  expect(await rowOf(path)).toMatchObject({ groups: ['-77'], refused_groups: [] });
  expect((await Browser.of(app, cast.member).post(`${path}/knowledge`, { note: 'on' })).status).toBe(403);
  expect((await Browser.of(app, cast.stranger).post(`${path}/knowledge`, { note: 'on' })).status).toBe(404);
});

it('a person makes a code that is shown once, chooses what to be told of, and ends the pairing', async () => {
  const channel_id = (await made('paired')).split('/').at(-1)!;
  const member = Browser.of(app, cast.member);
  const own = `/profile/channels/${channel_id}`;
  const shown = await member.post(`${own}/code`, {});
  const [, code] = /<code>([2-9A-Z]{8})<\/code>/.exec(shown.text)!;
  expect((await member.get('/profile/channels')).text).not.toContain(code);
  const [, part] = /data-source="([^"]*)" data-fresh/.exec(shown.text)!;
  expect((await member.get(part!)).text).toMatch(/data-awaits[\s\S]*You are not paired/);
  const { user_id } = cast.member;
  await transaction(database, async (tx) =>
    pairIdentity(tx, {
      channel_id,
      company_id: cast.company_id,
      channel: 'telegram',
      user_id,
      external_id: '77',
      external_name: 'Mel',
    }),
  );
  expect((await member.get('/profile/channels')).text).toContain('You are paired as Mel');
  const paired = (await member.get(part!)).text;
  expect(paired).toContain('You are paired as Mel');
  expect(paired).not.toContain('data-awaits');
  expect((await Browser.of(app, cast.stranger).get(part!)).status).toBe(404);
  await member.post(`${own}/notify`, { approvals: 'on', attention: '' });
  const pairing = async () => {
    const [row] = await database.db
      .select()
      .from(chat_pairings)
      .where(eq(chat_pairings.channel_id, channel_id));
    return row!;
  };
  expect((await pairing()).notify).toEqual(['approvals']);
  const admin = Browser.of(app, cast.admin);
  expect((await admin.get(`/channels/${channel_id}`)).text).toMatch(/>\s*approvals\s*</);
  expect((await admin.post(`/channels/${channel_id}/test`, {})).text).toContain(
    'you are not paired with the channel',
  );
  await admin.post(`/channels/${channel_id}/people/${user_id}/remove`, {});
  expect((await pairing()).revoked_at).not.toBeNull();
  expect((await member.post(`${own}/unpair`, {})).status).toBe(404);
});

it('a channel of Slack cannot lose its app-level token by the choice of none', async () => {
  const admin = Browser.of(app, cast.admin);
  const added = await admin.post(list, { ...form, name: 'slack', kind: 'slack', app_token: 'BOT_TOKEN' });
  const path = added.headers.location!.split('?')[0]!;
  const { values } = pageForms((await admin.get(path)).text).find(
    ({ action, values: { app_token } }) => action === path && app_token !== undefined,
  )!;
  const refused = await admin.post(path, { ...values, app_token: '' });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('socket mode needs one');
  expect(await rowOf(path)).toMatchObject({ app_token: '${secret:BOT_TOKEN}' });
});
