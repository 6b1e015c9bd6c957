import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dueBackup, listBackups, putSetting, recentNotifications, requestBackup } from '@acp/core';
import { transaction } from '@acp/db';
import { loadConfig, newId, Vault } from '@acp/kernel';
import { LocalStorage } from '@acp/storage';
import { actors, cloneDatabase, type TestDatabase, testLogger } from '@acp/testkit';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeDueBackup } from './make-due-backup.ts';

const never = new AbortController().signal;
let kit: TestDatabase;
let home: string;

beforeAll(async () => {
  kit = await cloneDatabase('due_backup');
  home = await mkdtemp(path.join(tmpdir(), 'due-backup-test-'));
});
afterAll(async () => rm(home, { recursive: true, force: true }));

const scheduler = (env: Record<string, string> = {}, up_sec = 60) => ({
  claimed_by: `scheduler ${newId()}`,
  config: loadConfig({ SERVICE_HOME: home, ...env }),
  database: kit.database,
  direct_url: kit.url,
  logger: testLogger(),
  started_at: new Date(Date.now() - up_sec * 1000),
  storage: new LocalStorage(path.join(home, 'storage')),
  vault: new Vault(null),
});
const made = async () => (await listBackups(kit.database.db)).map(({ status }) => status);

describe('a due backup', () => {
  it('is made by one of several schedulers, soon after the start of an instance', async () => {
    await makeDueBackup(scheduler({}, 1), never);
    await makeDueBackup(scheduler({ SERVICE_BACKUP_SCHEDULE: 'off' }), never);
    expect(await made()).toEqual([]);
    await Promise.all([1, 2, 3].map(async () => makeDueBackup(scheduler(), never)));
    expect(await made()).toEqual(['succeeded']);
    await makeDueBackup(scheduler(), never);
    expect(await made()).toEqual(['succeeded']);
  });

  it('comes again by the schedule, which the setting decides; after a failure in an hour', async () => {
    const { database } = kit;
    await database.pool.query(`update backups set started_at = now() - interval '25 hours'`);
    expect((await dueBackup(database.db, '0 3 * * *')).due).toEqual({ id: null, trigger: 'schedule' });
    await putSetting(database.db, 'backup_schedule', 'off');
    await makeDueBackup(scheduler({ SERVICE_BACKUP_SCHEDULE: '* * * * *' }), never);
    await putSetting(database.db, 'backup_schedule', '0 3 1 1 *');
    await makeDueBackup(scheduler({ SERVICE_BACKUP_SCHEDULE: '* * * * *' }), never);
    expect(await made()).toEqual(['succeeded']);
    const failing = async (minutes: number) =>
      database.pool.query(
        `insert into backups (status, trigger, claimed_by, started_at)
         values ('failed', 'schedule', 'test', now() - make_interval(mins => $1))`,
        [minutes],
      );
    await failing(50);
    expect((await dueBackup(database.db, '0 3 1 1 *')).due).toBeUndefined();
    await database.pool.query(`delete from backups where status = 'failed'`);
    await failing(61);
    await makeDueBackup(scheduler(), never);
    expect(await made()).toEqual(['succeeded', 'failed', 'succeeded']);
  });

  it('comes again an hour after one began whose process was killed', async () => {
    const { database } = kit;
    const killed = async (minutes: number, silent_sec: number) => {
      await database.pool.query('delete from backups');
      await database.pool.query(
        `insert into backups (status, trigger, claimed_by, started_at, updated_at)
         values ('running', 'schedule', 'killed', now() - make_interval(mins => $1), now() - make_interval(secs => $2))`,
        [minutes, silent_sec],
      );
    };
    for (const [minutes, silent_sec, status] of [
      [50, 180, 'failed'],
      [61, 60, 'running'],
    ] as const) {
      await killed(minutes, silent_sec);
      await makeDueBackup(scheduler(), never);
      expect(await made()).toEqual([status]);
    }
    await killed(61, 180);
    await makeDueBackup(scheduler(), never);
    expect(await made()).toEqual(['succeeded', 'failed']);
  });

  it('that an operator made, whose process was killed, is told of as failed, though no other is due', async () => {
    const { database } = kit;
    await database.pool.query('delete from backups');
    await putSetting(database.db, 'backup_schedule', 'off');
    await database.pool
      .query(`insert into backups (status, trigger, phase, claimed_by, started_at, updated_at)
      values ('running', 'operator', 'storage', 'ctl', now(), now() - interval '3 minutes')`);
    await Promise.all([1, 2, 3].map(async () => makeDueBackup(scheduler(), never)));
    const [backup] = await listBackups(database.db);
    expect(backup).toMatchObject({
      status: 'failed',
      phase: null,
      error: 'the process that made it has ended',
    });
    const told = await recentNotifications(database.db, 60);
    expect(told.filter(({ entity_id }) => entity_id === backup!.id)).toHaveLength(1);
  });

  it('is made when someone requests it, whatever the schedule; by one scheduler, after the one under way', async () => {
    const { database } = kit;
    await database.pool.query('delete from backups');
    await putSetting(database.db, 'backup_schedule', 'off');
    const request = async () => transaction(database, async (tx) => requestBackup(tx, actors.system));
    const { id, status } = await request();
    expect(status).toBe('queued');
    await expect(request()).rejects.toMatchObject({
      kind: 'conflict',
      message: 'a backup is already requested',
    });
    await database.pool.query(`insert into backups (status, trigger, claimed_by, started_at)
      values ('running', 'operator', 'ctl', now())`);
    await makeDueBackup(scheduler(), never);
    expect((await made()).toSorted()).toEqual(['queued', 'running']);
    await database.pool.query(`delete from backups where status = 'running'`);
    await Promise.all([1, 2, 3].map(async () => makeDueBackup(scheduler(), never)));
    expect(await listBackups(database.db)).toMatchObject([{ id, status: 'succeeded', trigger: 'operator' }]);
    await makeDueBackup(scheduler(), never);
    expect(await made()).toEqual(['succeeded']);
  });
});
