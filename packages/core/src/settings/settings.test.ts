import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import { cloneDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { clearSetting, getSetting, putSetting, runsPaused } from './index.ts';

// A separate database: settings apply to the whole instance.
let database: Database;
beforeAll(async () => {
  database = (await cloneDatabase('settings')).database;
});

describe('settings', () => {
  it('are unset until somebody sets them, replaced by the next value, and unset again when cleared', async () => {
    expect(await getSetting(database.db, 'run_retention_days')).toBeUndefined();
    await putSetting(database.db, 'run_retention_days', 30);
    await putSetting(database.db, 'run_retention_days', 60);
    expect(await getSetting(database.db, 'run_retention_days')).toBe(60);
    await clearSetting(database.db, 'run_retention_days');
    expect(await getSetting(database.db, 'run_retention_days')).toBeUndefined();
  });

  it('refuse a value that is none for their key', async () => {
    await expect(putSetting(database.db, 'run_retention_days', 0)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(putSetting(database.db, 'instance_name', ' ')).rejects.toMatchObject({ kind: 'invalid' });
    await expect(putSetting(database.db, 'backup_schedule', 'daily')).rejects.toMatchObject({
      kind: 'invalid',
    });
  });

  it('are checked on the way out as well', async () => {
    await database.db.execute(
      sql`insert into instance_settings (key, value) values ('company_max_concurrent_runs', '"many"')`,
    );
    await expect(getSetting(database.db, 'company_max_concurrent_runs')).rejects.toMatchObject({
      kind: 'invalid',
    });
  });

  it('let runs start unless the emergency stop is on', async () => {
    expect(await runsPaused(database.db)).toBe(false);
    await putSetting(database.db, 'runs_paused', true);
    expect(await runsPaused(database.db)).toBe(true);
    await putSetting(database.db, 'runs_paused', false);
    expect(await runsPaused(database.db)).toBe(false);
  });
});
