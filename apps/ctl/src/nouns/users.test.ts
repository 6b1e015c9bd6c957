/** An operator's commands for accounts and keys. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { findUserByEmail, openSession, resolveSession, verifyPassword } from '@acp/core';
import { type Database, schema } from '@acp/db';
import { createLogger, loadConfig, newId, sha256Hex } from '@acp/kernel';
import { cloneDatabase, createCompany } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Command } from '../command.ts';
import { keys } from './keys.ts';
import { users } from './users.ts';
import { workers } from './workers.ts';

let database: Database;
beforeAll(async () => {
  ({ database } = await cloneDatabase('ctl_users'));
});

async function run(
  command: Command | undefined,
  options: Record<string, string>,
  env: Record<string, string> = {},
) {
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  return command!.run({ config: loadConfig(env), logger, database, direct_url: '', options });
}

/** A user with a session. */
async function account() {
  const email = `${newId()}@example.com`;
  await run(users.create, { email, password: 'the first password' });
  const user = (await findUserByEmail(database.db, email))!;
  const { token } = await openSession(database.db, user.id);
  const signedIn = async () => (await resolveSession(database.db, sha256Hex(token))) !== undefined;
  const opens = async (password: string) =>
    verifyPassword((await findUserByEmail(database.db, email))!.password_hash, password);
  const events = async () => {
    const log = schema.security_events;
    const rows = await database.db.select({ kind: log.kind }).from(log).where(eq(log.user_id, user.id));
    return rows.map(({ kind }) => kind);
  };
  expect(await signedIn()).toBe(true);
  return { id: user.id, email, signedIn, opens, events };
}

describe('what the API would refuse', () => {
  const long = 'x'.repeat(501);
  it.each([
    ['a user without a name', users.create, { email: 'a@example.com', name: '' }, /^user\.display_name /],
    ['a user with too long a name', users.create, { email: 'a@example.com', name: long }, /^user\.display/],
    ['a worker without a name', workers.create, { name: ' ' }, /^worker\.name /],
    ['a worker with too many tags', workers.create, { name: 'w', tags: 'x,'.repeat(101) }, /^worker\.tags /],
  ])('is refused here: %s', async (_what, command, options, message) => {
    await expect(run(command, options)).rejects.toThrow(message);
  });

  it('is refused here: a key with too long a label', async () => {
    const { slug } = await createCompany(database.db);
    await expect(run(keys.mint, { company: slug, role: 'viewer', label: long })).rejects.toThrow(
      /^key\.label /,
    );
  });
});

describe('users', () => {
  it('reset-password sets the given one, or one that is printed once; sessions end, and the security log says so', async () => {
    const ada = await account();
    await run(users['reset-password'], { email: ada.email.toUpperCase(), password: 'a second password' });
    expect([await ada.opens('the first password'), await ada.opens('a second password')]).toEqual([
      false,
      true,
    ]);
    expect(await ada.signedIn()).toBe(false);
    const { value, text } = await run(users['reset-password'], { email: ada.email });
    const { password } = value as { password: string };
    expect(text).toContain(password);
    expect(await ada.opens(password)).toBe(true);
    expect(await ada.events()).toEqual(['password.changed', 'password.changed']);
  });

  it('reset-password tells the owner by mail, where mail is set up', async () => {
    const ada = await account();
    const mail = { SERVICE_SMTP_URL: 'smtp://127.0.0.1', SERVICE_MAIL_FROM: 'plane@example.com' };
    await run(users['reset-password'], { email: ada.email, password: 'a second password' }, mail);
    const { outgoing_messages } = schema;
    const sent = await database.db
      .select({ purpose: outgoing_messages.purpose, body: outgoing_messages.body })
      .from(outgoing_messages)
      .where(eq(outgoing_messages.recipient, ada.email));
    expect(sent).toEqual([
      { purpose: 'account', body: expect.stringContaining('was changed by an administrator') },
    ]);
    expect(sent[0]!.body).not.toContain('a second password');
  });

  it('reset-password refuses a common or short password and an unknown address, and changes nothing', async () => {
    const ada = await account();
    const reset = async (email: string, password: string) =>
      run(users['reset-password'], { email, password });
    await expect(reset(ada.email, 'password123')).rejects.toThrow(/common/);
    await expect(reset(ada.email, 'short')).rejects.toThrow('at least 8 characters');
    await expect(reset('nobody@example.com', 'a long password')).rejects.toThrow('no user has the address');
    expect([await ada.opens('the first password'), await ada.signedIn()]).toEqual([true, true]);
  });

  it('reset-second-factor removes app, passkeys and recovery codes, and ends the sessions', async () => {
    const ada = await account();
    const user_id = ada.id;
    await database.db.insert(schema.passkeys).values({
      user_id,
      name: 'lost',
      credential_id: newId(),
      public_key: 'x',
      counter: 0,
      backed_up: false,
    });
    await database.db.insert(schema.recovery_codes).values({ user_id, code_hash: 'x' });
    await run(users['reset-second-factor'], { email: ada.email });
    for (const table of [schema.passkeys, schema.recovery_codes, schema.user_totp])
      expect(await database.db.$count(table, eq(table.user_id, user_id))).toBe(0);
    expect(await ada.signedIn()).toBe(false);
    expect(await ada.events()).toEqual(['second_factor.reset']);
    expect(await ada.opens('the first password')).toBe(true);
  });

  it('deactivate closes the account', async () => {
    const ada = await account();
    await run(users.deactivate, { email: ada.email });
    expect(await ada.signedIn()).toBe(false);
    expect(await findUserByEmail(database.db, ada.email)).toMatchObject({ is_active: false });
  });
});

describe('keys', () => {
  it('mint gives a key that ends after its days, and refuses a lifetime that is none', async () => {
    const { slug } = await createCompany(database.db);
    const mint = async (days: string) =>
      run(keys.mint, { company: slug, role: 'viewer', 'expires-in-days': days });
    const { value } = await mint('2');
    const { expires_at } = value as { expires_at: Date };
    expect((expires_at.getTime() - Date.now()) / 86_400_000).toBeCloseTo(2, 1);
    await expect(mint('0')).rejects.toThrow('--expires-in-days');
    await expect(mint('many')).rejects.toThrow('--expires-in-days');
    expect((await run(keys.list, { company: slug })).value).toHaveLength(1);
  });

  it('revoke takes the id alone; another company than the key’s is refused', async () => {
    const [{ slug }, other] = [await createCompany(database.db), await createCompany(database.db)];
    const { id } = (await run(keys.mint, { company: slug, role: 'viewer' })).value as { id: string };
    await expect(run(keys.revoke, { id, company: other.slug })).rejects.toMatchObject({ kind: 'not_found' });
    await expect(run(keys.revoke, { id: newId() })).rejects.toMatchObject({ kind: 'not_found' });
    await run(keys.revoke, { id });
    expect((await run(keys.list, { company: slug })).value).toEqual([]);
  });
});

it('lists names that speak to a terminal as text, one line each', async () => {
  const email = `${newId()}@example.com`;
  await run(users.create, { email, password: 'the first password', name: 'x\u001b[2J\nroot\u202e' });
  const { text } = await run(users.list, {});
  const line = text.split('\n').find((each) => each.includes(email));
  expect(line).toContain(String.raw`x\u001b[2J\u000aroot\u202e`);
});
