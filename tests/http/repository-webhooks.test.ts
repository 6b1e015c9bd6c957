/** Requests of GitHub and GitLab to a project's webhook, and attempts by others. */
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewRepositoryWebhook, Project } from '@acp/contract';
import { type Database, schema } from '@acp/db';
import { createLogger, loadConfig, newId } from '@acp/kernel';
import { createIssue, databaseWithQueue, queuedJobs } from '@acp/testkit';
import { sign } from '@octokit/webhooks-methods';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { type Cast, createCast } from './cast.ts';

let database: Database;
let app: Express;
let cast: Cast;
let project: Project;
let hook: NewRepositoryWebhook;
let workspace_id: string;

beforeAll(async () => {
  database = await databaseWithQueue();
  const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  app = createApp({ database, logger, config, validate_responses: true });
  cast = await createCast(database);
});

const as = (who: 'admin' | 'member' | 'agent' | 'stranger') => cast[who].headers;
const path = () => `/api/projects/${project.id}/repository-webhook`;

beforeEach(async () => {
  const made = await request(app)
    .post(`/api/companies/${cast.company_id}/projects`)
    .set(as('admin'))
    .send({ name: 'Shop', repo_url: 'https://github.com/harbour/shop.git' })
    .expect(201);
  project = made.body as Project;
  hook = (await request(app).post(path()).set(as('admin')).expect(201)).body as NewRepositoryWebhook;
  workspace_id = await branch('ABC-1-cart', cast.company_id, project.id);
});

/** Creates a pushed branch for an issue of its own. */
async function branch(name: string, company_id: string, project_id: string): Promise<string> {
  const { id: issue_id } = await createIssue(database.db, { id: company_id });
  const [row] = await database.db
    .insert(schema.workspaces)
    .values({
      company_id,
      project_id,
      issue_id,
      kind: 'repository',
      branch: name,
      pushed_commit: 'c1',
    })
    .returning();
  return row!.id;
}

const told = (name: string) => JSON.stringify({ action: 'closed', pull_request: { head: { ref: name } } });
async function send(body: string, headers: Record<string, string>, id = hook.public_id) {
  const { status, body: answer } = await request(app)
    .post(`/api/repository-webhooks/${id}`)
    .set({ 'Content-Type': 'application/json', ...headers })
    .send(body);
  return { status, answer: answer as unknown };
}
async function fromGithub(body: string, id = hook.public_id, secret = hook.secret) {
  const signature = await sign(secret, body);
  return send(body, { 'X-GitHub-Event': 'pull_request', 'X-Hub-Signature-256': signature }, id);
}
const looks = async () => (await queuedJobs(database.db, 'look-at-pull-request', { workspace_id })).length;

describe('the webhook of a repository', () => {
  it('has the pull request of the branch looked at: at once, and once however often it is told', async () => {
    expect(await fromGithub(told('ABC-1-cart'))).toEqual({ status: 200, answer: { status: 'noted' } });
    expect(await looks()).toBe(1);
    // The second may arrive after that check has started; all others are covered by the check it requests.
    for (let again = 0; again < 5; again += 1)
      expect((await fromGithub(told('ABC-1-cart'))).answer).toEqual({ status: 'noted' });
    expect(await looks()).toBe(2);
    const seen = await request(app).get(path()).set(as('admin')).expect(200);
    expect(seen.body).toMatchObject({ last_event: 'pull_request', received_at: expect.any(String) });
    expect(seen.body).not.toHaveProperty('secret');
  });

  it('takes GitLab’s token, and says what it has nothing to do with', async () => {
    const body = JSON.stringify({ object_attributes: { source_branch: 'ABC-1-cart' } });
    const gitlab = { 'X-Gitlab-Event': 'Merge Request Hook', 'X-Gitlab-Token': hook.secret };
    expect(await send(body, gitlab)).toEqual({ status: 200, answer: { status: 'noted' } });
    for (const other of [told('main'), '{}', 'no JSON'])
      expect(await fromGithub(other)).toEqual({ status: 200, answer: { status: 'ignored' } });
    expect(await looks()).toBe(1);
  });

  it('reaches no branch of another project, of the same name', async () => {
    const other = await request(app)
      .post(`/api/companies/${cast.company_id}/projects`)
      .set(as('admin'))
      .send({ name: 'Other' });
    const elsewhere = `/api/projects/${(other.body as Project).id}/repository-webhook`;
    const { body } = await request(app).post(elsewhere).set(as('admin')).expect(201);
    const { public_id, secret } = body as NewRepositoryWebhook;
    expect(await fromGithub(told('ABC-1-cart'), public_id, secret)).toMatchObject({
      answer: { status: 'ignored' },
    });
    expect(await fromGithub(told('ABC-1-cart'), hook.public_id, secret)).toMatchObject({ status: 401 });
    expect(await looks()).toBe(0);
  });

  it('is 401 without the secret, and 404 where there is none, or none any more', async () => {
    expect(await send(told('ABC-1-cart'), {})).toEqual({
      status: 401,
      answer: { error: 'missing signature' },
    });
    expect(await fromGithub(told('ABC-1-cart'), newId())).toMatchObject({ status: 404 });
    expect(await fromGithub(told('ABC-1-cart'), 'x')).toMatchObject({ status: 404 });
    const before = hook;
    hook = (await request(app).post(path()).set(as('admin')).expect(201)).body as NewRepositoryWebhook;
    expect(await fromGithub(told('ABC-1-cart'), before.public_id, before.secret)).toMatchObject({
      status: 404,
    });
    expect(await fromGithub(told('ABC-1-cart'), hook.public_id, before.secret)).toMatchObject({
      status: 401,
    });
    await database.db
      .update(schema.projects)
      .set({ deleted_at: new Date() })
      .where(eq(schema.projects.id, project.id));
    expect(await fromGithub(told('ABC-1-cart'))).toMatchObject({ status: 404 });
    expect(await looks()).toBe(0);
  });

  it('is an admin’s to make, to see and to delete', async () => {
    for (const who of ['member', 'agent'] as const) {
      await request(app).post(path()).set(as(who)).expect(403);
      await request(app).get(path()).set(as(who)).expect(403);
      await request(app).delete(path()).set(as(who)).expect(403);
    }
    await request(app).post(path()).set(as('stranger')).expect(404);
    await request(app).delete(path()).set(as('admin')).expect(204);
    await request(app).get(path()).set(as('admin')).expect(404);
    expect(await fromGithub(told('ABC-1-cart'))).toMatchObject({ status: 404 });
  });
});
