/** Histories that every write adds to, and what is left of them. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import * as kit from '@acp/testkit';
import { asc, eq, sql } from 'drizzle-orm';
import { activatePrompt, findAgent, updateAgent } from '../agents/index.ts';
import { HISTORY } from '../bounds/index.ts';
import { createInvite, deleteExpiredInvites } from '../companies/index.ts';
import { putDocument, restoreRevision } from '../documents/index.ts';
import { findIssue } from '../issues/index.ts';

const { agent_config_revisions, document_revisions, invites, prompt_evolutions, prompt_versions } = schema;
const system = kit.actors.system as Actor;

let database: Database;
beforeAll(async () => {
  database = await kit.databaseWithQueue();
});

const inTx = <T>(work: (tx: Tx) => Promise<T>) => transaction(database, work);

async function documentWith(revisions: number, body_bytes = 10) {
  const company = await kit.createCompany(database.db);
  const issue = (await findIssue(database.db, (await kit.createIssue(database.db, company)).id))!;
  const put = async (body: string) =>
    inTx((tx) => putDocument(tx, system, issue, 'plan', { title: 'Plan', body }));
  const { id } = await put('first');
  // What many writes would have left, in one statement.
  await database.pool.query(
    `insert into document_revisions (document_id, revision_number, title, body)
     select $1, n, 'Plan', repeat('x', $3::int)
     from generate_series(2, $2::int) n`,
    [id, revisions, body_bytes],
  );
  await database.pool.query('update documents set latest_revision_number = $2 where id = $1', [
    id,
    revisions,
  ]);
  const numbers = async () =>
    (
      await database.db
        .select({ number: document_revisions.revision_number })
        .from(document_revisions)
        .where(eq(document_revisions.document_id, id))
        .orderBy(asc(document_revisions.revision_number))
    ).map(({ number }) => number);
  return { issue, id, put, numbers };
}

describe('the revisions of a document', () => {
  it('are the newest 200: each write removes the oldest, a longer history step by step', async () => {
    const { put, numbers } = await documentWith(230);
    await put('next');
    const left = await numbers();
    expect(left).toHaveLength(HISTORY.entries);
    expect([left[0], left.at(-1)]).toEqual([32, 231]);
  });

  it('are fewer where they are long, but never fewer than ten', async () => {
    // As long texts that don't compress well are stored.
    await database.pool.query('alter table document_revisions alter body set storage external');
    const { put, numbers } = await documentWith(14, 2_500_000);
    await put('short');
    expect(await numbers()).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
  });

  it('stay readable when what they restored is gone', async () => {
    const { issue, put, numbers, id } = await documentWith(HISTORY.entries - 1);
    const [oldest] = await database.db
      .select()
      .from(document_revisions)
      .where(eq(document_revisions.document_id, id))
      .orderBy(asc(document_revisions.revision_number))
      .limit(1);
    await inTx((tx) => restoreRevision(tx, system, issue, 'plan', oldest!.id));
    await put('next');
    expect((await numbers())[0]).toBe(2);
    const [restored] = await database.db
      .select()
      .from(document_revisions)
      .where(eq(document_revisions.revision_number, HISTORY.entries))
      .orderBy(sql`created_at desc`)
      .limit(1);
    expect(restored).toMatchObject({ body: 'first', restored_from_revision_id: null });
  });
});

describe('the prompts of an agent', () => {
  it('are the newest 200, the current one, and those of evolutions', async () => {
    const company = await kit.createCompany(database.db);
    const { id } = await kit.createAgent(database.db, company);
    await database.pool.query(
      `insert into prompt_versions (agent_id, version_number, system_prompt, source)
       select $1, n, 'prompt ' || n, 'manual' from generate_series(1, 220) n`,
      [id],
    );
    const agent = async () => (await findAgent(database.db, id))!;
    await inTx(async (tx) => activatePrompt(tx, system, await agent(), 3));
    await database.db.insert(prompt_evolutions).values({
      company_id: company.id,
      agent_id: id,
      status: 'finished',
      base_version_number: 5,
      version_number: 7,
      max_rollouts: 1,
      max_cost_usd: '1',
    });
    await inTx(async (tx) => updateAgent(tx, system, await agent(), { system_prompt: 'newest' }));
    await inTx(async (tx) => activatePrompt(tx, system, await agent(), 5));
    await inTx(async (tx) => updateAgent(tx, system, await agent(), { system_prompt: 'newer still' }));
    const rows = await database.db
      .select({ number: prompt_versions.version_number })
      .from(prompt_versions)
      .where(eq(prompt_versions.agent_id, id))
      .orderBy(asc(prompt_versions.version_number));
    const left = rows.map(({ number }) => number);
    expect(left.slice(0, 3)).toEqual([5, 7, 22]);
    expect(left.at(-1)).toBe(222);
    expect(left).toHaveLength(HISTORY.entries + 3);
  });
});

describe('the configurations of an agent', () => {
  it('are the newest 200 and the one just written', async () => {
    const company = await kit.createCompany(database.db);
    const { id } = await kit.createAgent(database.db, company);
    await database.pool.query(
      `insert into agent_config_revisions (agent_id, config_json, created_at)
       select $1, '{}', now() - make_interval(mins => n) from generate_series(1, 230) n`,
      [id],
    );
    const agent = (await findAgent(database.db, id))!;
    await inTx((tx) => updateAgent(tx, system, agent, { adapter_config: { full_context: true } }));
    const left = await database.db.$count(agent_config_revisions, eq(agent_config_revisions.agent_id, id));
    expect(left).toBe(HISTORY.entries + 1);
  });
});

it('invites that nobody accepted are gone a month after they expired', async () => {
  const company = await kit.createCompany(database.db);
  const { id: open } = await inTx((tx) => createInvite(tx, system, company.id, { role: 'viewer' }));
  const { id: old } = await inTx((tx) => createInvite(tx, system, company.id, { role: 'viewer' }));
  const { id: used } = await inTx((tx) => createInvite(tx, system, company.id, { role: 'viewer' }));
  await database.pool.query(
    `update invites set expires_at = now() - interval '31 days',
       accepted_at = case when id = $2 then now() - interval '40 days' end where id in ($1, $2)`,
    [old, used],
  );
  await deleteExpiredInvites(database.db);
  const left = await database.db.select().from(invites).where(eq(invites.company_id, company.id));
  expect(left.map(({ id }) => id).toSorted()).toEqual([open, used].toSorted());
});
