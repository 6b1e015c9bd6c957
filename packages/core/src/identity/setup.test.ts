import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { schema, transaction } from '@acp/db';
import { newToken } from '@acp/kernel';
import { cloneDatabase, createUser, type TestDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { completeSetup, issueSetupToken, setupTokenValid } from './setup.ts';
import { bootstrapAdmin, listUsers } from './users.ts';

const { setup_tokens, users } = schema;

// A fresh instance without other tests' users.
let kit: TestDatabase;
beforeAll(async () => {
  kit = await cloneDatabase('setup');
});
afterAll(async () => kit.close());
beforeEach(async () => {
  await kit.database.db.delete(users);
  await kit.database.db.delete(setup_tokens);
});

const admin = (n = 1) => ({ email: `admin${n}@example.com`, display_name: 'Admin', password_hash: 'hash' });
const issue = () => transaction(kit.database, issueSetupToken);
const complete = (token: string, n?: number) =>
  transaction(kit.database, (tx) => completeSetup(tx, token, admin(n)));

describe('a set-up link', () => {
  it('there is no user: the link opens, and makes an instance admin once', async () => {
    const token = (await issue())!;
    expect(await setupTokenValid(kit.database.db, token)).toBe(true);
    expect(await complete(token)).toMatchObject({ instance_role: 'admin', is_active: true });
    expect(await setupTokenValid(kit.database.db, token)).toBe(false);
    await expect(complete(token, 2)).rejects.toMatchObject({ kind: 'forbidden' });
  });

  it('there is a user: none is issued', async () => {
    await createUser(kit.database.db);
    expect(await issue()).toBeNull();
  });

  it.each([
    ['unknown', async () => newToken()],
    [
      'older than a day',
      async () => {
        const token = (await issue())!;
        await kit.database.db.update(setup_tokens).set({ expires_at: sql`now() - interval '1 second'` });
        return token;
      },
    ],
    [
      'issued before somebody else became the first user',
      async () => {
        const token = (await issue())!;
        await createUser(kit.database.db);
        return token;
      },
    ],
  ])('%s: refused', async (_what, tokenOf) => {
    const token = await tokenOf();
    expect(await setupTokenValid(kit.database.db, token)).toBe(false);
    await expect(complete(token)).rejects.toMatchObject({ kind: 'forbidden' });
  });

  it('the database holds no token that opens anything', async () => {
    const token = (await issue())!;
    expect(JSON.stringify(await kit.database.db.select().from(setup_tokens))).not.toContain(token);
  });

  it('the links of two processes are used at once: one admin', async () => {
    const tokens = [(await issue())!, (await issue())!];
    const made = await Promise.allSettled(tokens.map((token, n) => complete(token, n)));
    expect(made.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect((await listUsers(kit.database.db)).items).toHaveLength(1);
  });
});

describe('the bootstrap admin', () => {
  it('eight processes start at once: made once', async () => {
    const made = await Promise.all(
      Array.from({ length: 8 }, () => transaction(kit.database, (tx) => bootstrapAdmin(tx, admin()))),
    );
    expect(made.filter((user) => user !== undefined)).toHaveLength(1);
    expect((await listUsers(kit.database.db)).items).toHaveLength(1);
  });

  it('there is another user: not made', async () => {
    await createUser(kit.database.db);
    expect(await transaction(kit.database, (tx) => bootstrapAdmin(tx, admin()))).toBeUndefined();
  });
});
