/** What lists with nothing in them, and pages of single things, tell their reader. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAgentKey, createCompany, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import { createAgent } from '@acp/testkit';
import request from 'supertest';
import { bearer, type Cast, createCast, person } from '../http/cast.ts';
import { createStage } from '../http/stage.ts';
import { Browser, type Pages, startPages } from '../http/pages.ts';

let pages: Pages;
let cast: Cast;
let admin: Browser;
/** A company without anything, administered by the instance’s admin. */
let bare: string;

beforeAll(async () => {
  pages = await startPages({ SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
  cast = await createCast(pages.database);
  admin = Browser.of(pages.app, cast.instance_admin);
  const made = await transaction(pages.database, async (tx) =>
    createCompany(tx, systemActor('tests'), { name: 'Bare', slug: 'bare' }),
  );
  bare = `/companies/${made.id}`;
});

const mainOf = async (path: string, language = 'en'): Promise<string> => {
  const { status, text } = await request(pages.app)
    .get(path)
    .set({ ...cast.instance_admin.headers, 'Accept-Language': language });
  expect([path, status]).toEqual([path, 200]);
  const main = /<main[\s\S]*<\/main>/.exec(text)![0];
  return main.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
};

it('a delivery that was given up without an attempt says why', async () => {
  const { webhookId } = await createStage(pages.database, cast);
  await pages.database.pool.query(
    "update webhook_deliveries set status = 'pending', attempts = 0, error = null, finished_at = null where webhook_id = $1",
    [webhookId],
  );
  expect((await admin.post(`/webhooks/${webhookId}/enabled`, {})).status).toBe(303);
  expect(await mainOf(`/webhooks/${webhookId}`)).toContain('the webhook was switched off');
});

it('a company without agents is told to hire one before it can chat', async () => {
  const main = await mainOf(`${bare}/chats`);
  expect(main).toContain('Hire an agent');
  expect(main).not.toContain('Choose an agent');
  expect(await mainOf(`/companies/${cast.other_company_id}/chats`)).toContain('Choose an agent');
});

it('the list without keys leads to the form where it is', async () => {
  const main = await mainOf(`${bare}/members/keys`);
  expect(main).toContain('No integration keys yet Create one above');
  expect(main.indexOf('Mint a key')).toBeLessThan(main.indexOf('No integration keys yet'));
});

it('a search for knowledge that finds nothing says so once', async () => {
  const main = await mainOf(`${bare}/knowledge?q=checkout`);
  expect(main.match(/Nothing found/g)).toHaveLength(1);
});

it('the profile names all that can be set on the page it leads to', async () => {
  expect(await mainOf('/profile')).toContain('Theme, density, language and time zone');
});

it('the members of a council are shown with the names of their roles', async () => {
  const { councilSessionId } = await createStage(pages.database, cast);
  await pages.database.pool.query(
    `insert into council_participants (session_id, company_id, agent_id, place, name, role)
      values ($1, $2, $3, 1, 'Ada', 'ceo')`,
    [councilSessionId, cast.company_id, cast.agent_id],
  );
  expect(await mainOf(`/councils/${councilSessionId}`)).toContain('CEO, has the chair');
});

it('states and kinds are words of the reader’s language', async () => {
  const { pluginId, routineId, companyId } = await createStage(pages.database, cast);
  await pages.database.pool.query(
    `insert into plugin_events (plugin_id, type, level, message, from_state, to_state, details)
      values ($1, 'denied', 'info', '–', 'ready', 'running', '{}')`,
    [pluginId],
  );
  await pages.database.pool.query(
    "insert into routine_runs (company_id, routine_id, source, status) values ($1, $2, 'manual', 'coalesced')",
    [companyId, routineId],
  );
  for (const [path, shown] of [
    [`/plugins/${pluginId}/log`, 'abgewiesen bereit → läuft –'],
    [`/routines/${routineId}`, 'zusammengelegt'],
  ] as const)
    expect(await mainOf(path, 'de')).toContain(shown);
});

it('what the service itself has written down is said in the reader’s language', async () => {
  const { agentId, approvalId, evolutionId } = await createStage(pages.database, cast);
  const { pool } = pages.database;
  await pool.query(
    `update approvals set status = 'approved', apply_error = 'unknown provider' where id = $1`,
    [approvalId],
  );
  await pool.query(
    `insert into backups (status, trigger, bytes, error, claimed_by, started_at)
      values ('failed', 'schedule', 0, 'the process that made it has ended', 'test', now())`,
  );
  await pool.query(
    `insert into evolution_candidates (evolution_id, number, status, minibatch, reason)
      values ($1, 7, 'rejected', '{}', 'It is a prompt that was there already.')`,
    [evolutionId],
  );
  await pool.query(`update prompt_versions set system_prompt = '' where agent_id = $1`, [agentId]);
  for (const [path, said] of [
    [`/approvals/${approvalId}`, 'Es konnte nicht ausgeführt werden: unbekannter Anbieter'],
    ['/admin/backups', 'der Prozess, der es erstellte, hat geendet'],
    [`/evolutions/${evolutionId}`, 'Diesen Prompt gab es schon.'],
    [`/agents/${agentId}/prompts`, '(keiner)'],
  ] as const)
    expect(await mainOf(path, 'de')).toContain(said);
});

it('those who can neither invite nor chat are not asked to', async () => {
  const { pool } = pages.database;
  await pool.query('delete from join_requests where company_id = $1', [cast.company_id]);
  const at = async (who: 'viewer' | 'admin', path: string) =>
    (await Browser.of(pages.app, cast[who]).get(`/companies/${cast.company_id}${path}`)).text;
  expect(await at('admin', '/members/requests')).toContain('It is quicker to');
  expect(await at('viewer', '/members/requests')).not.toContain('It is quicker to');
  expect(await at('viewer', '/chats')).not.toContain('Choose an agent and say');
});

it('an earlier revision of a document says which it is', async () => {
  const { key } = await createStage(pages.database, cast);
  const { rows } = await pages.database.pool.query<{ at: string }>(
    `select '/issues/' || d.issue_id || '/documents/' || d.key || '/revisions/' || r.id as at
      from documents d join document_revisions r on r.document_id = d.id where d.key = $1 and r.revision_number = 1 limit 1`,
    [key],
  );
  expect(await mainOf(rows[0]!.at)).toMatch(/Staged, revision 1/);
});

it('a provider is said to be paused for as long as it is', async () => {
  const { providerId } = await createStage(pages.database, cast);
  const pausedUntil = async (interval: string) =>
    pages.database.pool.query(
      `update providers set pause_reason = 'quota used up', paused_until = now() + $2::interval where id = $1`,
      [providerId, interval],
    );
  await pausedUntil('1 hour');
  expect(await mainOf(`/providers/${providerId}`)).toContain('Paused: quota used up');
  await pausedUntil('-1 hour');
  expect(await mainOf(`/providers/${providerId}`)).not.toContain('quota used up');
});

describe('whoever did something and is gone', () => {
  const company = () => `/companies/${cast.company_id}`;
  const leaving = async () =>
    transaction(pages.database, async (tx) => person(tx, 'member', cast.company_id, 'admin'));
  const gone = async (user_id: string) => {
    const { status } = await admin.post(`/admin/users/${user_id}/delete`, { keep_keys: '' });
    expect(status).toBe(303);
  };
  const asked = async (headers: Record<string, string>, title: string): Promise<string> => {
    const { body } = await request(pages.app)
      .post(`/api${company()}/approvals`)
      .set(headers)
      .send({ type: 'plan', title })
      .expect(201);
    return `/approvals/${body.id}`;
  };

  it('is a former user who asked, decided, invited and joined, not an integration', async () => {
    const [asking, joining] = [
      await leaving(),
      await transaction(pages.database, async (tx) => person(tx, 'member')),
    ];
    const browser = Browser.of(pages.app, asking);
    const path = await asked(asking.headers, 'Paint the shed');
    expect((await browser.post(`${path}/approve`, {})).status).toBe(303);
    const { body } = await browser.api('post', `/api${company()}/invites`, { role: 'viewer' });
    await Browser.of(pages.app, joining).api('post', `/api/invites/${body.token as string}/accept`);
    await gone(asking.user_id);
    await gone(joining.user_id);
    expect(await mainOf(path)).toMatch(/Asked by a former user [^]* by a former user/);
    expect(await mainOf(`${company()}/members/invites`)).toMatch(
      /accepted by a former user .* a former user/,
    );
    const bot = await asked(cast.board_admin.headers, 'Paint the roof');
    expect(await mainOf(bot)).toContain('Asked by an integration');
  });

  it('is a deleted agent who asked; a comment names whichever agent wrote it', async () => {
    const [asking, other] = await Promise.all(
      ['Asking', 'Other'].map(async (name) =>
        transaction(pages.database, async (tx) => {
          const { id } = await createAgent(tx, { id: cast.company_id }, { name });
          const key = await createAgentKey(tx, systemActor('tests'), cast.company_id, { agent_id: id });
          return { id, headers: bearer(key.raw_key) };
        }),
      ),
    );
    const path = await asked(asking!.headers, 'Hire a painter');
    await request(pages.app)
      .post(`/api${path}/comments`)
      .set(other!.headers)
      .send({ body_markdown: 'I can paint.' })
      .expect(201);
    expect(await mainOf(path)).toMatch(/Asked by Asking [^]* Other .* I can paint\./);
    expect((await admin.post(`/agents/${asking!.id}/delete`, {})).status).toBe(303);
    expect(await mainOf(path)).toContain('Asked by a deleted agent');
  });
});
