/**
 * Removing someone who has created keys: what the pages say, and what ends, seen by the key itself.
 * @in-order each test goes on with the members that are left
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { transaction } from '@acp/db';
import request from 'supertest';
import { type Cast, createCast, person } from '../http/cast.ts';
import { Browser, type Pages, startPages } from '../http/pages.ts';

let pages: Pages;
let cast: Cast;
beforeAll(async () => {
  pages = await startPages();
  cast = await createCast(pages.database);
});

/** Another admin of the company, with a key for an integration and one for the agent. */
async function eve() {
  const admin = await transaction(pages.database, async (tx) =>
    person(tx, 'member', cast.company_id, 'admin'),
  );
  const browser = Browser.of(pages.app, admin);
  const base = `/api/companies/${cast.company_id}`;
  const board = await browser.api('post', `${base}/board-user-keys`, { role: 'admin', label: 'Backdoor' });
  const agent = await browser.api('post', `${base}/agent-api-keys`, {
    agent_id: cast.agent_id,
    label: 'laptop',
  });
  expect([board.status, agent.status]).toEqual([201, 201]);
  expect(board.body).toMatchObject({ created_by_user_id: admin.user_id });
  return { ...admin, keys: [board.body.raw_key, agent.body.raw_key] as string[] };
}

const statusOf = async (key: string) =>
  (
    await request(pages.app)
      .get(`/api/companies/${cast.company_id}/issues`)
      .set('Authorization', `Bearer ${key}`)
  ).status;
const statuses = async ({ keys }: { keys: string[] }) => Promise.all(keys.map((key) => statusOf(key)));

it('the number of keys that end with a member is that of all pages of their list', async () => {
  const [boss, other] = [Browser.of(pages.app, cast.admin), await eve()];
  const { keys: _keys, ...admin } = other;
  const browser = Browser.of(pages.app, admin);
  for (let made = 2; made < 52; made += 1)
    await browser.api('post', `/api/companies/${cast.company_id}/board-user-keys`, { role: 'viewer' });
  const first = await boss.get(`/companies/${cast.company_id}/members/${other.user_id}`);
  const [, more] = /href="([^"]+cursor[^"]+)"/.exec(first.text)!;
  const second = await boss.get(more!.replaceAll('&#61;', '='));
  for (const { text } of [first, second]) expect(text).toContain('unless kept: 52 keys and webhooks.');
});

describe('an admin removes another who has created keys', () => {
  it('on the page: the list leads to a page that names them, and they end with the member', async () => {
    const [boss, gone] = [Browser.of(pages.app, cast.admin), await eve()];
    const base = `/companies/${cast.company_id}/members`;
    expect((await boss.get(base)).text).toContain(`href="${base}/${gone.user_id}"`);
    const { text } = await boss.get(`${base}/${gone.user_id}`);
    for (const said of ['Backdoor', 'laptop', '2 keys and webhooks']) expect(text).toContain(said);
    expect(await statuses(gone)).toEqual([200, 200]);
    expect((await boss.post(`${base}/${gone.user_id}/remove`, { keep_keys: '' })).status).toBe(303);
    expect(await statuses(gone)).toEqual([401, 401]);
    expect((await boss.get(`${base}/${gone.user_id}`)).status).toBe(404);
    const log = await boss.api('get', `/api${base.replace('/members', '')}/security-events?kind=key.ended`);
    expect(log.body).toHaveLength(2);
  });

  it('on the page and keeps them: they work, under the name of whoever kept them', async () => {
    const [boss, gone] = [Browser.of(pages.app, cast.admin), await eve()];
    const base = `/companies/${cast.company_id}/members`;
    await boss.post(`${base}/${gone.user_id}/remove`, { keep_keys: ['', 'on'] });
    expect(await statuses(gone)).toEqual([200, 200]);
    const held = await boss.api('get', `/api${base}/${cast.admin.user_id}/credentials`);
    expect(held.body).toHaveLength(2);
    const left = await boss.api('get', `/api${base}/${gone.user_id}/credentials`);
    expect(left.status).toBe(404);
  });

  it('through the API: 204 as specified, with a query to keep them', async () => {
    const [boss, kept, gone] = [Browser.of(pages.app, cast.admin), await eve(), await eve()];
    const base = `/api/companies/${cast.company_id}/members`;
    expect((await boss.api('delete', `${base}/${kept.user_id}?keep_keys=true`)).status).toBe(204);
    expect((await boss.api('delete', `${base}/${gone.user_id}`)).status).toBe(204);
    expect([await statuses(kept), await statuses(gone)]).toEqual([
      [200, 200],
      [401, 401],
    ]);
  });

  it('demotes them: a member may still have created the agent’s key', async () => {
    const [boss, less] = [Browser.of(pages.app, cast.admin), await eve()];
    const path = `/companies/${cast.company_id}/members/${less.user_id}`;
    const changed = await boss.post(`${path}/role`, { role: 'member', page: 'member' });
    expect(changed.headers.location).toBe(`${path}?done=role`);
    expect(await statuses(less)).toEqual([401, 200]);
  });

  it('who may not: a member, a viewer, someone of another company, an agent', async () => {
    const gone = await eve();
    const path = `/api/companies/${cast.company_id}/members/${gone.user_id}/credentials`;
    const asked = [cast.member, cast.viewer, cast.stranger, cast.agent].map(
      async ({ headers }) => (await request(pages.app).get(path).set(headers)).status,
    );
    expect(await Promise.all(asked)).toEqual([403, 403, 404, 403]);
  });
});

describe('an instance admin', () => {
  it('disables an account on its page: keys in all companies end; the page lists them first', async () => {
    const [boss, gone] = [Browser.of(pages.app, cast.instance_admin), await eve()];
    const path = `/admin/users/${gone.user_id}`;
    expect((await boss.get(path)).text).toContain('Backdoor');
    await boss.post(path, { is_active: '' });
    expect(await statuses(gone)).toEqual([401, 401]);
  });

  it('deletes an account and keeps the keys', async () => {
    const [boss, gone] = [Browser.of(pages.app, cast.instance_admin), await eve()];
    await boss.post(`/admin/users/${gone.user_id}/delete`, { keep_keys: ['', 'on'] });
    expect(await statuses(gone)).toEqual([200, 200]);
    const held = await boss.api('get', `/api/users/${cast.instance_admin.user_id}/credentials`);
    expect(held.body).toHaveLength(2);
  });
});
