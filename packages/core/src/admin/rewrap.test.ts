/** @in-order the keys of one database, from one to the next */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { keyFingerprint, newId, Vault } from '@acp/kernel';
import { cloneDatabase, createCompany, createUser } from '@acp/testkit';
import { resolveSecrets } from '../secrets/index.ts';
import { admitEncryptionKey, noteOnlyEncryptionKey, unknownEncryptionKeys } from '../settings/index.ts';
import { rewrapBatch, sealedColumns } from './index.ts';

// A separate database: keys apply to the whole instance.
let database: Database;
beforeAll(async () => {
  ({ database } = await cloneDatabase('rewrap'));
});

const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

describe('the database’s keys', () => {
  const admit = async (vault: Vault) => transaction(database, async (tx) => admitEncryptionKey(tx, vault));

  it('let a process start with the same key, without one, and with a new one beside the former', async () => {
    await admit(new Vault(null));
    await admit(new Vault(first));
    await admit(new Vault(first));
    await admit(new Vault(null));
    await expect(admit(new Vault(second))).rejects.toThrow(/SERVICE_ENCRYPTION_KEY_PREVIOUS/);
    await admit(new Vault(second, [first]));
    await expect(admit(new Vault(second))).rejects.toThrow(keyFingerprint(first));
    await expect(admit(new Vault(first))).rejects.toThrow(keyFingerprint(second));
  });

  it('are the current one alone after everything was rewrapped', async () => {
    await transaction(database, async (tx) => noteOnlyEncryptionKey(tx, keyFingerprint(second)));
    await admit(new Vault(second));
    expect(await unknownEncryptionKeys(database.db, new Vault(first))).toEqual([keyFingerprint(second)]);
    expect(await unknownEncryptionKeys(database.db, new Vault(second))).toEqual([]);
    await expect(admit(new Vault(first))).rejects.toThrow(keyFingerprint(second));
  });
});

describe('a rotation', () => {
  it('rewraps every sealed column in batches; a value that no key opens is told and left alone', async () => {
    const old = new Vault(first);
    const company = await createCompany(database.db);
    const ids = Array.from({ length: 5 }, () => newId());
    await database.db.insert(schema.secrets).values(
      ids.map((id, n) => ({
        id,
        company_id: company.id,
        name: `S_${n}`,
        sealed: old.seal(`value ${n}`, `secrets/${id}`),
      })),
    );
    const lost = newId();
    const strange = new Vault(Buffer.alloc(32, 9)).seal('x', `secrets/${lost}`);
    await database.db
      .insert(schema.secrets)
      .values({ id: lost, company_id: company.id, name: 'LOST', sealed: strange });
    const user = await createUser(database.db);
    const account = newId();
    await database.db.insert(schema.oauth_accounts).values({
      id: account,
      user_id: user.id,
      provider: 'oidc',
      issuer: 'i',
      subject: 's',
      tokens_sealed: old.seal('token', `oauth_accounts/${account}`),
    });

    const both = new Vault(second, [first]);
    const rewrapAll = async () => {
      let rewrapped = 0;
      const unreadable: string[] = [];
      for (const column of sealedColumns) {
        for (let after: string | null | undefined; after !== null;) {
          const from: string | null = after ?? null;
          const batch = await transaction(database, async (tx) => rewrapBatch(tx, both, column, from, 2));
          rewrapped += batch.rewrapped;
          unreadable.push(...batch.unreadable);
          after = batch.after;
        }
      }
      return { rewrapped, unreadable };
    };
    expect(await rewrapAll()).toEqual({ rewrapped: 6, unreadable: [lost] });
    expect(await rewrapAll()).toEqual({ rewrapped: 0, unreadable: [lost] });
    const alone = new Vault(second);
    const { value } = await resolveSecrets(database.db, company.id, '${secret:S_3}', alone);
    expect(value).toBe('value 3');
    const [row] = await database.db.select().from(schema.oauth_accounts);
    expect(alone.unseal(row!.tokens_sealed!, `oauth_accounts/${account}`)).toBe('token');
  });

  it('knows every column of the schema that holds sealed values', () => {
    const named = Object.entries(schema).flatMap(([table, columns]) =>
      Object.keys(columns)
        .filter((column) => column.endsWith('sealed'))
        .map((column) => `${table}.${column}`),
    );
    expect(sealedColumns.map(({ name }) => name).toSorted()).toEqual(named.toSorted());
  });
});
