import { beforeAll, describe, expect, it } from '@jest/globals';
import type { CreateProvider, UpdateProvider } from '@acp/contract';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { Vault } from '@acp/kernel';
import { actors, createAgent, createCompany, databaseWithQueue, meetAt } from '@acp/testkit';
import { and, eq, sql } from 'drizzle-orm';
import {
  assertProvider,
  createProvider,
  deleteProvider,
  embeddingsProvider,
  findProvider,
  listProviders,
  openProvider,
  pauseProvider,
  updateProvider,
} from './index.ts';
import { readAgentFacts } from '../runs/index.ts';

const { activity, agents, companies, outbox, providers } = schema;
const vault = new Vault(Buffer.alloc(32, 1));
const any = { egress: 'any' } as const;
const KEY = 'sk-correct-horse';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const admin = actors.board(company, 'admin');
  const create = async (input: Partial<CreateProvider> = {}, rules: { egress: 'any' | 'public' } = any) =>
    transaction(database, async (tx) =>
      createProvider(
        tx,
        admin,
        company.id,
        { name: 'Main', adapter_type: 'family_chat_a', ...input },
        vault,
        rules,
      ),
    );
  const row = async (id: string) => (await findProvider(database.db, id))!;
  const update = async (id: string, input: UpdateProvider) =>
    transaction(database, async (tx) => updateProvider(tx, admin, await row(id), input, vault, any));
  const remove = async (id: string) =>
    transaction(database, async (tx) => deleteProvider(tx, admin, await row(id)));
  const open = async (id: string) => openProvider(database.db, company.id, id, vault);
  return { company, admin, create, row, update, remove, open };
}

describe('a provider', () => {
  it('is stored sealed; neither answers nor activity show its key or headers', async () => {
    const { company, create, row, open } = await setUp();
    const created = await create({ api_key: KEY, custom_headers: { 'X-Team': 'battery-staple' } });
    expect(created).toMatchObject({
      name: 'Main',
      enabled: true,
      embeddings: false,
      has_api_key: true,
      has_custom_headers: true,
    });
    const entries = await database.db.select().from(activity).where(eq(activity.entity_id, created.id));
    expect(entries).toMatchObject([{ action: 'provider.created' }]);
    const listed = await listProviders(database.db, company.id, {});
    expect(listed).toEqual({ items: [created], next_cursor: null });
    const told = JSON.stringify([created, entries, listed, await row(created.id)]);
    expect(told).not.toMatch(/correct-horse|battery-staple/);
    expect(await open(created.id)).toMatchObject({
      api_key: KEY,
      custom_headers: { 'X-Team': 'battery-staple' },
      paused_until: null,
    });
  });

  it('cannot be stored with a key where there is no encryption key; without one it can', async () => {
    const { company, admin } = await setUp();
    const keyless = async (api_key?: string) =>
      transaction(database, async (tx) =>
        createProvider(
          tx,
          admin,
          company.id,
          { name: 'Main', adapter_type: 'family_chat_a', ...(api_key === undefined ? {} : { api_key }) },
          new Vault(null),
          any,
        ),
      );
    await expect(keyless(KEY)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await keyless()).toMatchObject({ has_api_key: false });
  });

  it('has a name of its own, whatever its case', async () => {
    const { create, update } = await setUp();
    await create({ name: 'Main' });
    await expect(create({ name: 'main' })).rejects.toMatchObject({ kind: 'conflict' });
    const other = await create({ name: 'Other' });
    await expect(update(other.id, { name: 'MAIN' })).rejects.toMatchObject({ kind: 'conflict' });
  });

  it.each([
    [{ adapter_type: 'family_compat' }, 'base_url is required for family_compat'],
    [{ base_url: 'ftp://models.example' }, 'base_url must be an http(s) URL'],
    [{ base_url: 'https://me:pass@models.example' }, 'base_url must not hold a password'],
    [{ base_url: 'http://169.254.169.254/latest' }, 'base_url names an address that may not be reached'],
    [
      { adapter_type: 'family_cloud', api_key: '{"region":"us"}' },
      'cloud credentials need a region, for example us-east-1',
    ],
    [
      { adapter_type: 'family_cloud', api_key: 'sk-x' },
      'the api_key of a cloud provider must be a JSON credentials blob',
    ],
  ] as const)('is refused as %j', async (input, message) => {
    const { create } = await setUp();
    await expect(create(input)).rejects.toMatchObject({ kind: 'invalid', message });
  });

  it('may name a private address only where the operator lets it', async () => {
    const { create } = await setUp();
    const base_url = 'http://10.0.0.7:8000/v1';
    const local = { adapter_type: 'family_compat', base_url } as const;
    await expect(create(local, { egress: 'public' })).rejects.toMatchObject({ kind: 'invalid' });
    expect(await create(local)).toMatchObject({ base_url, has_api_key: false });
  });

  it('that moves to another address or family needs again what is secret', async () => {
    const { create, update, open } = await setUp();
    const { id } = await create({ api_key: KEY, custom_headers: { 'X-Team': 'battery-staple' } });
    const there = { base_url: 'https://elsewhere.example/v1' };
    await expect(update(id, there)).rejects.toMatchObject({
      message: 'a new family or base_url needs api_key and custom_headers again, or null',
    });
    await expect(update(id, { adapter_type: 'family_search' })).rejects.toMatchObject({ kind: 'invalid' });
    const moved = await update(id, { ...there, api_key: 'sk-new-key', custom_headers: null });
    expect(moved).toMatchObject({ ...there, has_api_key: true, has_custom_headers: false });
    expect(await open(id)).toMatchObject({ api_key: 'sk-new-key', custom_headers: {} });
    // The same address again is not a move, and null removes the secrets.
    expect(await update(id, { ...there, name: 'Renamed' })).toMatchObject({ name: 'Renamed' });
    expect(await update(id, { api_key: null })).toMatchObject({ has_api_key: false });
  });

  it('stays while an agent uses it, and is gone for good afterwards', async () => {
    const { company, create, remove, row } = await setUp();
    const { id } = await create();
    const agent = await createAgent(database.db, company, { provider_id: id });
    await expect(remove(id)).rejects.toMatchObject({
      kind: 'conflict',
      message: 'provider is in use by an agent',
    });
    await database.db.update(agents).set({ provider_id: null }).where(eq(agents.id, agent.id));
    await remove(id);
    expect(await row(id)).toBeUndefined();
  });

  it('is not deleted under an agent that is being hired with it', async () => {
    const { company, create, remove } = await setUp();
    const { id } = await create();
    const named = Promise.withResolvers<void>();
    const committing = Promise.withResolvers<void>();
    const hire = transaction(database, async (tx) => {
      await assertProvider(tx, company.id, id);
      named.resolve();
      await committing.promise;
      await createAgent(tx, company, { provider_id: id });
    });
    await named.promise;
    const removal = remove(id);
    committing.resolve();
    await hire;
    await expect(removal).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('of another company, or none, is unknown to an agent', async () => {
    const [one, other] = [await setUp(), await setUp()];
    const { id } = await one.create();
    await expect(assertProvider(database.db, other.company.id, id)).rejects.toMatchObject({
      message: 'unknown provider',
    });
    await expect(assertProvider(database.db, one.company.id, one.company.id)).rejects.toMatchObject({
      kind: 'invalid',
    });
    expect(await openProvider(database.db, other.company.id, id, vault)).toBeUndefined();
    await database.db
      .update(companies)
      .set({ deleted_at: new Date() })
      .where(eq(companies.id, one.company.id));
    expect(await one.row(id)).toBeUndefined();
  });
});

describe('embeddings', () => {
  it('are computed by the designated provider, of which there is one', async () => {
    const { company, create, update, row } = await setUp();
    const chosen = async () => (await embeddingsProvider(database.db, company.id))?.name;
    expect(await chosen()).toBeUndefined();
    const own = await create({
      name: 'Own',
      adapter_type: 'family_compat',
      base_url: 'https://own.example/v1',
      embeddings: true,
    });
    const hosted = await create({ name: 'Hosted' });
    expect(await chosen()).toBe('Own');
    await update(hosted.id, { embeddings: true, embedding_model: ' ' });
    expect([await chosen(), (await row(own.id)).embeddings]).toEqual(['Hosted', false]);
    expect((await row(hosted.id)).embedding_model).toBeNull();
  });

  it('fall back by themselves where the designated one cannot: the hosted first, then the oldest', async () => {
    const { company, create, update } = await setUp();
    const chosen = async () => (await embeddingsProvider(database.db, company.id))?.name;
    await create({ name: 'Chat', adapter_type: 'family_chat_b', embeddings: true });
    expect(await chosen()).toBeUndefined();
    await create({ name: 'Own', adapter_type: 'family_compat', base_url: 'https://own.example/v1' });
    expect(await chosen()).toBe('Own');
    const hosted = await create({ name: 'Hosted' });
    expect(await chosen()).toBe('Hosted');
    await update(hosted.id, { enabled: false, embeddings: true });
    expect(await chosen()).toBe('Own');
  });
});

describe('a default', () => {
  it('is one of a company: the last that was designated; and it has a model', async () => {
    const { create, update, row } = await setUp();
    const first = await create({ is_default: true, default_model: ' m ' });
    expect(first).toMatchObject({ is_default: true, default_model: 'm' });
    const second = await create({ name: 'Second', default_model: 'n' });
    await update(second.id, { is_default: true });
    expect([(await row(first.id)).is_default, (await row(second.id)).is_default]).toEqual([false, true]);
    const needed = { kind: 'invalid', message: 'is_default needs a default_model' };
    await expect(create({ name: 'Third', is_default: true })).rejects.toMatchObject(needed);
    await expect(update(second.id, { default_model: null })).rejects.toMatchObject(needed);
    await update(second.id, { is_default: false, default_model: '' });
    expect(await row(second.id)).toMatchObject({ is_default: false, default_model: null });
  });

  it('and the provider of embeddings may be exchanged at once', async () => {
    const { admin, create, row } = await setUp();
    const embedding = await create({ name: 'First', embeddings: true, default_model: 'm' });
    const main = await create({ name: 'Second', is_default: true, default_model: 'm' });
    const change = (id: string, input: UpdateProvider) => async (tx: Tx) =>
      updateProvider(tx, admin, await row(id), input, vault, any);
    const outcomes = await meetAt(database, sql`select from providers where id = ${main.id} for update`, [
      change(main.id, { embeddings: true }),
      change(embedding.id, { is_default: true }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    expect(await row(main.id)).toMatchObject({ embeddings: true, is_default: false });
  });
});

describe('a pause', () => {
  const inAnHour = () => new Date(Date.now() + 3_600_000);
  const pause = async (id: string, reset_at?: Date) =>
    transaction(database, async (tx) => pauseProvider(tx, id, { reset_at, reason: 'quota used up' }));

  it('lasts until the later reset, and is told to the admins once', async () => {
    const { company, create, open } = await setUp();
    const { id } = await create();
    const until = inAnHour();
    await pause(id, until);
    await pause(id);
    expect(await open(id)).toMatchObject({ paused_until: until, pause_reason: 'quota used up' });
    const told = await database.db
      .select()
      .from(outbox)
      .where(and(eq(outbox.company_id, company.id), eq(outbox.type, 'notification')));
    expect(told).toMatchObject([
      { data: { topic: 'provider', entity_id: id, message: expect.stringContaining('quota used up') } },
    ]);
  });

  it('is no longer than a day, whatever the provider says, and a quarter of an hour where it says nothing', async () => {
    const { create, row } = await setUp();
    const minutes = async (id: string) =>
      Math.round(((await row(id)).paused_until!.getTime() - Date.now()) / 60_000);
    const [one, other] = [await create({ name: 'A' }), await create({ name: 'B' })];
    await pause(one.id, new Date('2999-01-01'));
    await pause(other.id);
    expect([await minutes(one.id), await minutes(other.id)]).toEqual([1440, 15]);
  });

  it('has the provider’s agents dispatched at its end, and as soon as somebody ends it', async () => {
    const { company, create, update } = await setUp();
    const { id } = await create();
    const { id: agent_id } = await createAgent(database.db, company, { provider_id: id });
    await createAgent(database.db, company, { provider_id: id, deleted_at: new Date() });
    const dispatched = async () => {
      const { rows } = await database.pool.query<{ at: number }>(
        `select round(extract(epoch from start_after - now()) / 60)::int as at from pgboss.job
         where name = 'dispatch-agent' and data->>'agent_id' = $1 order by start_after`,
        [agent_id],
      );
      return rows.map(({ at }) => at);
    };
    await pause(id, inAnHour());
    await pause(id);
    expect(await dispatched()).toEqual([60]);
    await update(id, { name: 'Other' });
    await update(id, { enabled: true });
    expect(await dispatched()).toEqual([0, 60]);
  });

  it('of the default holds back agents that name no provider, but none with an adapter of its own', async () => {
    const { company, create } = await setUp();
    const { id } = await create({ is_default: true, default_model: 'm' });
    const paused = async (values: Partial<typeof agents.$inferInsert>) => {
      const agent = await createAgent(database.db, company, values);
      return (await readAgentFacts(database.db, agent.id))?.provider_paused;
    };
    expect(await paused({})).toBe(false);
    await pause(id);
    expect(await paused({})).toBe(true);
    expect(await paused({ adapter_type: 'cli_a_local' })).toBe(false);
    expect(await paused({ provider_id: (await create({ name: 'Other' })).id })).toBe(false);
  });

  it('that is over holds nobody back; enabling the provider or a new key ends one', async () => {
    const { create, update, open } = await setUp();
    const { id } = await create();
    await pause(id, inAnHour());
    expect(await update(id, { enabled: true })).toMatchObject({ paused_until: null, pause_reason: null });
    await pause(id, inAnHour());
    expect(await update(id, { api_key: KEY })).toMatchObject({ paused_until: null });
    await database.db
      .update(providers)
      .set({ paused_until: new Date(Date.now() - 1000) })
      .where(eq(providers.id, id));
    expect(await open(id)).toMatchObject({ paused_until: null });
  });
});
