/** What pages say of a run that waits for a remote worker. */
import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createIssue } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

const UNSERVED = 'No remote worker that may take this run is online';
const WAITING = 'Waiting for a remote worker';
const LINK = '<a href="/admin/workers">Workers</a>';

let app: Express;
let database: Database;
let cast: Cast;
/** The run's page and its issue's, and their parts. */
let paths: string[];
let run_id: string;

beforeAll(async () => {
  ({ app, database } = await startPages());
});

beforeEach(async () => {
  cast = await createCast(database);
  const { company_id, agent_id } = cast;
  await database.db.delete(schema.workers);
  const issue = await createIssue(database.db, { id: company_id }, { assignee_agent_id: agent_id });
  const [run] = await database.db
    .insert(schema.heartbeat_runs)
    .values({
      company_id,
      agent_id,
      issue_id: issue.id,
      status: 'running',
      wake_reason: 'assignment',
      adapter_type: 'remote',
      started_at: new Date(),
    })
    .returning();
  run_id = run!.id;
  paths = [`/runs/${run_id}`, `/runs/${run_id}/facts`, `/issues/${issue.id}`, `/issues/${issue.id}/part/run`];
});

const queue = async (values: Partial<typeof schema.remote_tasks.$inferInsert> = {}) =>
  database.db.insert(schema.remote_tasks).values({
    heartbeat_run_id: run_id,
    agent_id: cast.agent_id,
    company_id: cast.company_id,
    tags_required: ['gpu'],
    payload: {},
    deadline: sql`now() + interval '1 hour'`,
    ...values,
  });

const worker = async (values: Partial<typeof schema.workers.$inferInsert> = {}) =>
  database.db.insert(schema.workers).values({
    name: 'W',
    status: 'approved',
    tags: ['gpu', 'linux'],
    key_hash: crypto.randomUUID(),
    key_prefix: 'k',
    last_seen_at: new Date(),
    ...values,
  });

/** What each says of it; undefined if they differ. `awaits`: the part asks again. */
async function saidEverywhere(who: 'viewer' | 'instance_admin' = 'viewer') {
  const browser = Browser.of(app, cast[who]);
  const found = new Set<string>();
  for (const path of paths) {
    const { text } = await browser.get(path);
    const said = [UNSERVED, WAITING].filter((phrase) => text.includes(phrase));
    const awaits = /<p class="[a-z ]+" data-awaits/.test(text) ? ['awaits'] : [];
    found.add([...said, ...awaits, ...(text.includes(LINK) ? ['link'] : [])].join(', '));
  }
  return found.size === 1 ? [...found][0] : undefined;
}

it('says that none is online that may take it, with the tags that are needed, and leads instance admins to the fleet', async () => {
  await queue({ model: 'big' });
  expect(await saidEverywhere()).toBe(`${UNSERVED}, awaits`);
  expect(await saidEverywhere('instance_admin')).toBe(`${UNSERVED}, awaits, link`);
  const { text } = await Browser.of(app, cast.viewer).get(paths[0]!);
  expect(text).toContain('It needs the tags gpu.');
  expect(text).toContain('It needs the model big.');
});

it.each([
  ['has not been seen for long', { last_seen_at: sql`now() - interval '1 hour'` as unknown as Date }],
  ['lacks a tag', { tags: ['linux'] }],
  ['shares other models', { shared_models: [{ provider: 'p', models: ['small'] }] }],
  ['is draining', { status: 'draining' }],
  ['waits for approval', { status: 'pending_approval' }],
])('a worker that %s is none', async (_, values) => {
  await queue({ model: 'big' });
  await worker(values);
  expect(await saidEverywhere()).toBe(`${UNSERVED}, awaits`);
});

it('with one online it only waits, as before its task is queued; a task that is taken waits for none', async () => {
  expect(await saidEverywhere()).toBe(`${WAITING}, awaits`);
  await queue({ model: 'big' });
  await worker({ shared_models: [{ provider: 'p', models: ['b*'] }] });
  expect(await saidEverywhere()).toBe(`${WAITING}, awaits`);
  await database.db.update(schema.remote_tasks).set({ status: 'claimed' });
  expect(await saidEverywhere()).toBe('');
});
