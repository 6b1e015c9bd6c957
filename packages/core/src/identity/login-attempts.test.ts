import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { testDatabase } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { clearLoginFailures, deleteOldLoginFailures, reserveLoginAttempt } from './login-attempts.ts';

const { login_failures } = schema;

let database: Database;
beforeAll(async () => {
  ({ database } = await testDatabase());
});

const freshEmail = () => `${newId()}@example.com`;
const attempt = (email: string, address = '10.0.0.1') =>
  transaction(database, (tx) => reserveLoginAttempt(tx, email, address));
const fail = async (email: string, times: number, address?: string) => {
  for (let n = 0; n < times; n += 1) expect((await attempt(email, address)).locked_sec).toBeNull();
};
/** Ages all failures for the address by that much. */
const age = (email: string, minutes: number) =>
  database.db
    .update(login_failures)
    .set({ created_at: sql`created_at - make_interval(mins => ${minutes})` })
    .where(eq(login_failures.email, email));

describe('a login attempt', () => {
  it('comes after five failures from one address: locked for 15 minutes, whatever the case of the e-mail', async () => {
    const email = freshEmail();
    await fail(email, 5);
    const { locked_sec } = await attempt(email.toUpperCase());
    expect(locked_sec).toBeGreaterThan(14 * 60);
    expect(locked_sec).toBeLessThanOrEqual(15 * 60);
  });

  it('comes from another address: not locked by five failures of the first', async () => {
    const email = freshEmail();
    await fail(email, 5);
    expect(await attempt(email, '10.0.0.2')).toEqual({ locked_sec: null });
  });

  it('comes after 50 failures from everywhere: locked from any address', async () => {
    const email = freshEmail();
    for (let n = 0; n < 25; n += 1) await fail(email, 2, `10.1.0.${n}`);
    expect((await attempt(email, '10.9.9.9')).locked_sec).toBeGreaterThan(14 * 60);
  });

  it('is one of 20 at once: exactly five get through to the password', async () => {
    const email = freshEmail();
    const answers = await Promise.all(Array.from({ length: 20 }, () => attempt(email)));
    expect(answers.filter(({ locked_sec }) => locked_sec === null)).toHaveLength(5);
  });

  it('is one of 70 at once from as many addresses: exactly 50 get through', async () => {
    const email = freshEmail();
    const answers = await Promise.all(Array.from({ length: 70 }, (_, n) => attempt(email, `10.2.0.${n}`)));
    expect(answers.filter(({ locked_sec }) => locked_sec === null)).toHaveLength(50);
  });

  it('comes 15 minutes after the last failure: not locked', async () => {
    const email = freshEmail();
    await fail(email, 5);
    await age(email, 14);
    expect((await attempt(email)).locked_sec).toBeGreaterThan(0);
    await age(email, 1);
    expect(await attempt(email)).toEqual({ locked_sec: null });
  });

  it('comes after five failures spread over more than 15 minutes: not locked', async () => {
    const email = freshEmail();
    await fail(email, 3);
    await age(email, 16);
    await fail(email, 2);
    expect(await attempt(email)).toEqual({ locked_sec: null });
  });

  it('while locked does not prolong the lock', async () => {
    const email = freshEmail();
    await fail(email, 5);
    await age(email, 10);
    const first = await attempt(email);
    expect(await attempt(email)).toEqual({ locked_sec: expect.any(Number) });
    expect(first.locked_sec).toBeLessThanOrEqual(5 * 60);
  });

  it('succeeded: the pair starts anew, other addresses keep their failures', async () => {
    const email = freshEmail();
    await fail(email, 4);
    await fail(email, 5, '10.0.0.2');
    await transaction(database, (tx) => clearLoginFailures(tx, email, '10.0.0.1'));
    await fail(email, 5);
    expect((await attempt(email, '10.0.0.2')).locked_sec).toBeGreaterThan(0);
  });
});

describe('retention', () => {
  it('failures are older than an hour: forgotten, younger ones kept', async () => {
    const [old, young] = [freshEmail(), freshEmail()];
    await fail(old, 1);
    await fail(young, 1);
    await age(old, 61);
    await deleteOldLoginFailures(database.db);
    const count = (email: string) => database.db.$count(login_failures, eq(login_failures.email, email));
    expect([await count(old), await count(young)]).toEqual([0, 1]);
  });
});
