import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { Scrubber, Vault } from '@acp/kernel';
import { actors, createCompany, databaseWithQueue } from '@acp/testkit';
import { and, eq } from 'drizzle-orm';
import {
  createSecret,
  deleteSecret,
  findSecret,
  listSecrets,
  resolveSecrets,
  updateSecret,
} from './index.ts';

const { activity, secrets } = schema;
const vault = new Vault(Buffer.alloc(32, 1));

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const admin = actors.board(company, 'admin');
  const create = async (name: string, value: string) =>
    transaction(database, async (tx) => createSecret(tx, admin, company.id, { name, value }, vault));
  const resolve = async <T>(value: T) => resolveSecrets(database.db, company.id, value, vault);
  return { company, admin, create, resolve };
}

describe('a secret', () => {
  it('is stored sealed, and neither the answer nor the activity shows its value', async () => {
    const { company, create } = await setUp();
    const created = await create('API_KEY', 'correct horse');
    expect(created).toMatchObject({ name: 'API_KEY', version: 1, description: null, last_used_at: null });
    const [row] = await database.db.select().from(secrets).where(eq(secrets.id, created.id));
    const entries = await database.db.select().from(activity).where(eq(activity.entity_id, created.id));
    expect(entries).toMatchObject([{ action: 'secret.created', details: { name: 'API_KEY' } }]);
    expect(JSON.stringify([created, row, entries])).not.toContain('correct horse');
    const listed = await listSecrets(database.db, company.id, {});
    expect(listed).toEqual({ items: [created], next_cursor: null });
  });

  it('cannot be stored without a key, nor under a name that is taken', async () => {
    const { company, admin, create } = await setUp();
    await create('A', 'value');
    await expect(create('A', 'other')).rejects.toMatchObject({ kind: 'conflict' });
    const keyless = transaction(database, async (tx) =>
      createSecret(tx, admin, company.id, { name: 'B', value: 'v' }, new Vault(null)),
    );
    await expect(keyless).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('has a new version with a new value only, and is gone for good when deleted', async () => {
    const { admin, create, resolve } = await setUp();
    const { id } = await create('A', 'first value');
    const row = async () => (await findSecret(database.db, id))!;
    const update = async (input: { value?: string; description?: string }) =>
      transaction(database, async (tx) => updateSecret(tx, admin, await row(), input, vault));
    expect(await update({ description: 'of the shop' })).toMatchObject({ version: 1 });
    expect(await update({ value: 'second value' })).toMatchObject({ version: 2, description: 'of the shop' });
    expect((await resolve('${secret:A}')).value).toBe('second value');
    await transaction(database, async (tx) => deleteSecret(tx, admin, await row()));
    expect(await findSecret(database.db, id)).toBeUndefined();
    await expect(resolve('${secret:A}')).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('of a company in the trash counts as absent', async () => {
    const { company, create } = await setUp();
    const { id } = await create('A', 'value');
    await database.db
      .update(schema.companies)
      .set({ deleted_at: new Date() })
      .where(eq(schema.companies.id, company.id));
    expect(await findSecret(database.db, id)).toBeUndefined();
  });
});

describe('references', () => {
  it('are resolved in all strings however deep, by one statement, and tell the scrubber what is in them', async () => {
    const { create, resolve } = await setUp();
    await create('TOKEN', 'tok-123456');
    await create('LOOKS_LIKE_ONE', '${secret:TOKEN}');
    const before = database.statements();
    const resolved = await resolve({
      env: { A: '${secret:TOKEN}', B: ['Bearer ${secret:TOKEN}', 7, null] },
      odd: '${secret:LOOKS_LIKE_ONE}',
      plain: '${secret:lower}',
      '${secret:TOKEN}': true,
    });
    expect(database.statements() - before).toBe(1);
    expect(resolved.value).toEqual({
      env: { A: 'tok-123456', B: ['Bearer tok-123456', 7, null] },
      // A secret's value is not a template.
      odd: '${secret:TOKEN}',
      plain: '${secret:lower}',
      '${secret:TOKEN}': true,
    });
    expect(new Scrubber(resolved.secrets).scrub('it is tok-123456.')).toBe('it is [redacted].');
  });

  it('mark the secret as used, to the minute, and another company’s is unknown', async () => {
    const { company, create, resolve } = await setUp();
    await create('TOKEN', 'tok-123456');
    const used = async () => {
      const mine = and(eq(secrets.company_id, company.id), eq(secrets.name, 'TOKEN'));
      return (await database.db.select().from(secrets).where(mine))[0]!.last_used_at;
    };
    await resolve('${secret:TOKEN}');
    const first = await used();
    expect(first).toBeInstanceOf(Date);
    await resolve('${secret:TOKEN}');
    expect(await used()).toEqual(first);
    const stranger = await setUp();
    await expect(stranger.resolve('${secret:TOKEN}')).rejects.toMatchObject({
      kind: 'invalid',
      message: 'unknown secret: TOKEN',
    });
  });

  it('cost no statement where there is none', async () => {
    const { resolve } = await setUp();
    const before = database.statements();
    const value = { model: 'x' };
    expect(await resolve(value)).toEqual({ value, secrets: [] });
    expect(database.statements()).toBe(before);
  });
});
