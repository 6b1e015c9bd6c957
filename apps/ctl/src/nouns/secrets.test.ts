import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getSetting, resolveSecrets } from '@acp/core';
import { type Database, schema } from '@acp/db';
import { createLogger, encryptionKeyFile, loadConfig, newId, Vault } from '@acp/kernel';
import { openQueue, type Queue } from '@acp/queue';
import { cloneDatabase, createCompany } from '@acp/testkit';
import type { Command } from '../command.ts';
import { runs } from './runs.ts';
import { secrets } from './secrets.ts';

// A separate database: the key and the emergency stop apply to the whole instance.
let database: Database;
let queue: Queue;
beforeAll(async () => {
  ({ database } = await cloneDatabase('ctl_secrets'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());

async function run(command: Command | undefined, env: Record<string, string> = {}) {
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  return command!.run({ config: loadConfig(env), logger, database, direct_url: '', options: {} });
}

const [old, current] = ['1'.repeat(64), '2'.repeat(64)];
const vaultOf = (key: string) => new Vault(Buffer.from(key, 'hex'));

describe('secrets rewrap', () => {
  it('brings everything under the current key, after which the former one is not needed', async () => {
    const company = await createCompany(database.db);
    const id = newId();
    const sealed = vaultOf(old).seal('value', `secrets/${id}`);
    await database.db.insert(schema.secrets).values({ id, company_id: company.id, name: 'A', sealed });
    await run(secrets.rewrap, { SERVICE_ENCRYPTION_KEY: old });
    await expect(run(secrets.rewrap, { SERVICE_ENCRYPTION_KEY: current })).rejects.toThrow(/_PREVIOUS/);
    const rotation = { SERVICE_ENCRYPTION_KEY: current, SERVICE_ENCRYPTION_KEY_PREVIOUS: old };
    const answer = await run(secrets.rewrap, rotation);
    expect(answer.failed).toBe(false);
    expect(answer.value).toMatchObject({
      columns: expect.arrayContaining([{ column: 'secrets.sealed', rewrapped: 1, unreadable: 0 }]),
    });
    await run(secrets.rewrap, { SERVICE_ENCRYPTION_KEY: current });
    const { value } = await resolveSecrets(database.db, company.id, '${secret:A}', vaultOf(current));
    expect(value).toBe('value');
  });

  it('without a key says so', async () => {
    await expect(run(secrets.rewrap)).rejects.toThrow('SERVICE_ENCRYPTION_KEY is not set');
  });
});

describe('runs pause and resume', () => {
  it('set and end the emergency stop', async () => {
    const paused = async () => getSetting(database.db, 'runs_paused');
    await run(runs.pause);
    expect(await paused()).toBe(true);
    await run(runs.resume);
    expect(await paused()).toBe(false);
  });
});

const keysInUse = async () =>
  (
    await database.pool.query<{ value: string[] }>(
      "select value from instance_settings where key = 'encryption_keys'",
    )
  ).rows[0]?.value;

describe('secrets make-key', () => {
  it('lays a key into the home, for its user alone, once, and none beside another that is in use', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'make-key-'));
    const env = { SERVICE_HOME: home };
    await expect(run(secrets['make-key'], { ...env, SERVICE_ENCRYPTION_KEY: current })).rejects.toThrow(
      'there is a key already',
    );
    // What stands in this database is under another.
    await expect(run(secrets['make-key'], env)).rejects.toThrow('is not the key of this database');
    expect(await readdir(home)).toEqual([]);
    await database.pool.query("delete from instance_settings where key = 'encryption_keys'");
    const file = encryptionKeyFile(home);
    const made = await run(secrets['make-key'], env);
    expect(made.value).toMatchObject({ file });
    const key = (await readFile(file, 'utf8')).trim();
    expect([key.length, (await stat(file)).mode & 0o777]).toEqual([64, 0o600]);
    expect(made.text).not.toContain(key);
    expect(await keysInUse()).toEqual([vaultOf(key).fingerprint]);
    await database.pool.query("delete from instance_settings where key = 'encryption_keys'");
    await expect(run(secrets['make-key'], env)).rejects.toThrow('EEXIST');
    expect(await keysInUse()).toBeUndefined();
    expect((await readFile(file, 'utf8')).trim()).toBe(key);
    await rm(home, { recursive: true });
  });

  it('whose answer from the database is lost leaves the key there: its fingerprint may have been recorded', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'make-key-'));
    await database.pool.query(`delete from instance_settings where key = 'encryption_keys';
      create function break_off() returns trigger language plpgsql as
        'begin perform pg_terminate_backend(pg_backend_pid()); return null; end';
      create constraint trigger break_off after insert or update on instance_settings
        deferrable initially deferred for each row execute function break_off()`);
    try {
      await expect(run(secrets['make-key'], { SERVICE_HOME: home })).rejects.toThrow('database unavailable');
    } finally {
      await database.pool.query('drop trigger break_off on instance_settings');
    }
    const file = encryptionKeyFile(home);
    const key = (await readFile(file, 'utf8')).trim();
    await run(secrets.rewrap, { SERVICE_HOME: home, SERVICE_ENCRYPTION_KEY: key });
    expect(await keysInUse()).toEqual([vaultOf(key).fingerprint]);
    await rm(home, { recursive: true });
  });
});
