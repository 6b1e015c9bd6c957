/** Whom a request to join reaches, and what its pages say once it is decided. */
import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Inbox } from '@acp/contract';
import { type Database, schema } from '@acp/db';
import { waitFor } from '@acp/testkit';
import { and, eq } from 'drizzle-orm';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let database: Database;
let cast: Cast;
let base: string;

type Who = 'admin' | 'member' | 'viewer';

beforeAll(async () => {
  ({ app, database } = await startPages());
});

beforeEach(async () => {
  cast = await createCast(database);
  base = `/companies/${cast.company_id}`;
  const asked = { company_id: cast.company_id, message: 'May I come <in?' };
  await Browser.of(app, cast.stranger).post('/join-requests', asked);
});

const read = async (path: string, who: Who = 'admin') => (await Browser.of(app, cast[who]).get(path)).text;
const waiting = async (who: Who) => read(`${base}/inbox/part/waiting`, who);
const inbox = async (who: Who) =>
  (await Browser.of(app, cast[who]).api('get', `/api${base}/inbox`)).body as Inbox;

it('is in the inbox and on the dashboard of admins, and counted there; not in that of others', async () => {
  const page = await read(`${base}/inbox`);
  expect(page).toContain('Requests to join');
  expect(page).toContain('May I come &#60;in?');
  expect(await read(base)).toMatch(
    new RegExp(`href="${base}/members/requests">[^<]+</a\\s*><span[^>]*>asks to join`),
  );
  expect(await waiting('admin')).toBe('1');
  expect((await inbox('admin')).join_requests).toMatchObject([
    { user_id: cast.stranger.user_id, status: 'pending', message: 'May I come <in?' },
  ]);
  for (const who of ['member', 'viewer'] as const) {
    expect(await read(`${base}/inbox`, who)).not.toContain('Requests to join');
    expect(await read(base, who)).not.toContain('asks to join');
    expect([await waiting(who), (await inbox(who)).join_requests]).toEqual(['', []]);
  }
});

it.each([
  ['approved', 'Approved: a member now.'],
  ['rejected', 'Rejected.'],
])('is %s in the inbox, which leads back to it and says so', async (status, said) => {
  const [, path] = /action="(\/join-requests\/[^"]+)"/.exec(await read(`${base}/inbox`))!;
  const answer = await Browser.of(app, cast.admin).post(path!, { status, from: 'inbox' });
  expect([answer.status, answer.headers.location]).toEqual([303, `${base}/inbox?done=${status}`]);
  const page = await read(answer.headers.location!);
  expect(page).toContain(said);
  expect(page).not.toContain('Requests to join');
  expect(await waiting('admin')).toBe('');
});

it('is told to open pages, when it is made and when it is decided: the list renews itself', async () => {
  const requests = `${base}/members/requests`;
  const [, source] = /data-live="join_request" data-source="([^"]+)"/.exec(await read(requests))!;
  const admin = Browser.of(app, cast.admin);
  const part = await admin.get(source!, { 'HX-Request': 'true' });
  expect(part.text).not.toContain('<html');
  const [, path] = /action="(\/join-requests\/[^"]+)"/.exec(part.text)!;
  await admin.post(path!, { status: 'rejected' });
  const { company_id } = cast;
  const told = await waitFor(async () => {
    const found = await database.db
      .select({ data: schema.events.data })
      .from(schema.events)
      .where(and(eq(schema.events.company_id, company_id), eq(schema.events.type, 'join_request')))
      .orderBy(schema.events.seq);
    return found.length === 2 && found;
  });
  expect(told).toMatchObject([{ data: { status: 'pending' } }, { data: { status: 'rejected' } }]);
  expect(JSON.stringify(told)).not.toContain('May I');
});
