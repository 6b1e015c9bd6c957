import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { actors, testDatabase } from '@acp/testkit';
import { newId } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { admitLicense, installLicense, licenseState, requireEntitlement } from './index.ts';

let database: Database;
beforeEach(async () => {
  ({ database } = await testDatabase());
  await database.db.execute(sql`delete from instance_settings where key = 'entitlement'`);
});

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
const license = (expires_at: Date | null) => ({ id: newId(), holder: 'Acme', expires_at });
const boot = async (given: ReturnType<typeof license> | null = null) =>
  transaction(database, async (tx) => admitLicense(tx, given));
const install = async (given: ReturnType<typeof license>) =>
  transaction(database, async (tx) => installLicense(tx, actors.system, given));
const state = async () => licenseState(database.db);
const pass = async (days: number) =>
  database.db.execute(sql`update instance_settings set value = value || jsonb_build_object(
    'until', (value ->> 'until')::timestamptz - make_interval(days => ${days}::int)) where key = 'entitlement'`);

describe('the license of an instance', () => {
  it('is a trial of 30 days from the first boot, and no later boot makes it longer', async () => {
    await boot();
    const { expires_at, ...first } = await state();
    expect(first).toEqual({ status: 'trial', read_only: false, license_id: null, holder: null });
    expect(Math.round((Number(expires_at) - Date.now()) / 3_600_000)).toBe(720);
    await pass(29);
    await boot();
    expect(await state()).toMatchObject({ status: 'trial', read_only: false });
    await pass(1);
    await boot();
    expect(await state()).toMatchObject({ status: 'expired', read_only: true });
    await expect(requireEntitlement(database.db)).rejects.toMatchObject({
      kind: 'forbidden',
      message: 'instance is read-only: license required',
    });
  });

  it('of the environment or installed ends the trial, and is over when it ends', async () => {
    const mine = license(inDays(400));
    await boot(mine);
    expect(await state()).toMatchObject({ status: 'licensed', license_id: mine.id, holder: 'Acme' });
    await pass(400);
    expect(await state()).toMatchObject({ status: 'expired', read_only: true });
    const next = license(null);
    expect(await install(next)).toEqual({
      status: 'licensed',
      read_only: false,
      license_id: next.id,
      holder: 'Acme',
      expires_at: null,
    });
    await requireEntitlement(database.db);
  });

  it('that is over, or ends before the present one, is refused, and one of the environment is passed over', async () => {
    await boot();
    const refused = { kind: 'invalid', message: 'the license ends before the one that is installed' };
    const over = {
      kind: 'invalid',
      message: expect.stringMatching(/^the license ended on \d{4}-\d\d-\d\d$/),
    };
    await expect(install(license(inDays(-1)))).rejects.toMatchObject(over);
    const trial = { kind: 'invalid', message: 'the license ends before the trial' };
    await expect(install(license(inDays(2)))).rejects.toMatchObject(trial);
    await install(license(inDays(100)));
    await expect(install(license(inDays(90)))).rejects.toMatchObject(refused);
    await boot(license(inDays(50)));
    expect(Math.round((Number((await state()).expires_at) - Date.now()) / 86_400_000)).toBe(100);
  });
});
