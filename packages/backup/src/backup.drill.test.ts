/** Backups end to end: what goes in comes out, and a defective file changes nothing. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  beginBackup,
  createNote,
  dueBackup,
  knowsStorageMarker,
  listBackups,
  recentNotifications,
  systemActor,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { newId, unavailable, Vault } from '@acp/kernel';
import { LocalStorage } from '@acp/storage';
import {
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  emptyDatabase,
  type TestDatabase,
  testLogger,
} from '@acp/testkit';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { backUpInstance, restoreBackup, verifyBackup } from './index.ts';
import { connect } from './tables.ts';

const key = Buffer.alloc(32, 7);
const never = new AbortController().signal;
const MIB = 1024 * 1024;
let folder: string;
let kit: TestDatabase;
let storage: LocalStorage;

const place = (...names: string[]) => path.join(folder, ...names);
const storeIn = (name: string) => ({ store: new LocalStorage(place(name)), prefix: '' });
const rest = (vault = new Vault(key), backups = 'kept-here') => ({
  vault,
  backups: storeIn(backups),
  into_homes: 'empty' as 'any' | 'empty',
});

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'backup-test-'));
  kit = await cloneDatabase('backup');
  const { database } = kit;
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const parent = await createIssue(database.db, company, { title: 'Sails\tand \\N ropes\n' });
  for (let n = 0; n < 20; n += 1)
    await createIssue(database.db, company, { parent_issue_id: parent.id, assignee_agent_id: agent.id });
  await transaction(database, async (tx) =>
    createNote(tx, systemActor('test'), company.id, { title: 'Tides', body_markdown: 'High at noon.' }),
  );
  // Its number is beyond the partition that a new instance has.
  await database.pool.query(`select make_room_for_events(250000)`);
  await database.pool.query(`update event_sequence set last = 249999`);
  await database.pool.query(`insert into outbox (type, data) values ('issue_updated', '{}')`);
  await database.pool.query('select sequence_outbox(10)');
  // So is the part of its transcripts.
  await database.pool.query('insert into transcript_parts (part) values (2), (3)');
  await database.pool.query('select make_transcript_parts()');
  await database.pool.query(
    `with run as (
      insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type) values ($1, $2, 'manual', 'llm')
      returning id, transcript_part
    ) insert into run_events (run_id, seq, kind, payload, part) select id, 1, 'output', '{"text": "Tides"}', transcript_part from run`,
    [company.id, agent.id],
  );
  storage = new LocalStorage(place('storage'));
  for (const [name, bytes] of [
    ['attachments/a/one', 3_000_000],
    ['logos/empty', 0],
  ] as const)
    await storage.put(name, Readable.from(bytes > 0 ? [Buffer.alloc(bytes, 'x')] : []), { max_bytes: bytes });
  const home = place('home', 'companies', company.id, 'agents', agent.id);
  // A repository whose branches are all packed has empty folders, and is none without them.
  for (const name of ['deep/er', 'deep/repository.git/refs/heads'])
    await mkdir(path.join(home, name), { recursive: true });
  await promisify(execFile)('mkfifo', [path.join(home, 'pipe')]);
  await writeFile(path.join(home, 'deep/er/run.sh'), '#!/bin/sh\n');
  await chmod(path.join(home, 'deep/er/run.sh'), 0o755);
  await writeFile(path.join(home, `${'long-name-'.repeat(20)}.txt`), 'long');
  await symlink('/etc', path.join(home, 'elsewhere'));
  const sparse = await open(path.join(home, 'huge'), 'w');
  await sparse.truncate(400 * 1024 ** 3);
  await sparse.close();
});

afterAll(async () => {
  await kit.close();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  await kit.database.pool.query('delete from backups');
});

/** @param onDelete called before a backup is deleted */
async function backUp(
  name: string,
  vault = new Vault(key),
  signal = never,
  objects = storage,
  onDelete: (file: string) => Promise<void> = async () => undefined,
) {
  const config = { home: place('home'), backup_retention_days: 30 };
  const { database, url: direct_url } = kit;
  const parts = { config, database, direct_url, storage: objects, vault, logger: testLogger() };
  const backups = storeIn(name);
  const remove = backups.store.delete.bind(backups.store);
  backups.store.delete = async (file) => onDelete(file).then(async () => remove(file));
  const made = await backUpInstance(
    { ...parts, backups },
    { trigger: 'operator', claimed_by: 'test' },
    signal,
  );
  return { ...made, bytes_of: await readFile(place(name, 'objects', made.file)) };
}

/** Digest of all rows of all tables, except those of the queue and of backups. */
async function digest({ pool }: Database): Promise<Record<string, string>> {
  const tables = await pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
  );
  const found: Record<string, string> = {};
  for (const { name } of tables.rows) {
    if (name === 'backups') continue;
    const { rows } = await pool.query<{ sum: string }>(
      `select count(*) || ' ' || md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as sum from "${name}" t`,
    );
    found[name] = rows[0]!.sum;
  }
  return found;
}

async function filesBelow(root: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const full = path.join(entry.parentPath, entry.name);
    const name = path.relative(root, full);
    if (entry.isDirectory()) found[name] = 'a folder';
    else if (entry.isSymbolicLink()) found[name] = `-> ${await readlink(full)}`;
    else if (entry.isFile() && (await stat(full)).size < 2 ** 30)
      found[name] = `${((await stat(full)).mode % 0o1000).toString(8)} ${await readFile(full, 'utf8')}`;
  }
  return found;
}

interface Restored {
  database: Database;
  storage: LocalStorage;
  homes: string;
}

/** @param backups store of the restored instance */
async function restore(file: Buffer, vault = new Vault(key), backups?: string): Promise<Restored> {
  const target = await emptyDatabase(`restored_${newId().slice(0, 8)}`);
  const into = place(newId());
  const restored = {
    database: target.database,
    storage: new LocalStorage(path.join(into, 'storage')),
    homes: path.join(into, 'companies'),
  };
  await restoreBackup(async () => Readable.from(chunks(file)), {
    database_url: target.url,
    ...rest(vault, backups),
    ...restored,
  });
  return restored;
}

function* chunks(file: Buffer): Generator<Buffer> {
  for (let at = 0; at < file.length; at += 60_000) yield file.subarray(at, at + 60_000);
}

describe('a backup', () => {
  it.each([
    ['encrypted', new Vault(key)],
    ['plain', new Vault(null)],
  ])('%s: is restored with every row, object and file of homes', async (name, vault) => {
    const made = await backUp(name, vault);
    const left_out = made.trailer.left_out.map(({ path: left, reason }) => [path.basename(left), reason]);
    expect(made.trailer.files).toBe(4);
    expect(Object.fromEntries(left_out)).toEqual({
      huge: 'a sparse file',
      pipe: 'neither a file, a folder nor a link',
    });
    expect(made.bytes_of.includes('High at noon')).toBe(false);
    const restored = await restore(made.bytes_of, vault);
    expect(await digest(restored.database)).toEqual(await digest(kit.database));
    expect(await filesBelow(restored.homes)).toEqual(await filesBelow(place('home', 'companies')));
    for await (const { key: object, size_bytes } of storage.list(''))
      expect([object, await restored.storage.size(object)]).toEqual([object, size_bytes]);
    const [row] = await listBackups(kit.database.db);
    expect(row).toMatchObject({
      status: 'succeeded',
      phase: null,
      file: made.file,
      bytes: made.bytes_of.length,
    });
    // The next id after those restored from the backup.
    await expect(transaction(restored.database, async (tx) => createCompany(tx))).resolves.toBeDefined();
  });

  it('says which objects the store has listed and does not give', async () => {
    const lossy = new LocalStorage(place('storage'));
    const get = lossy.get.bind(lossy);
    lossy.get = async (name, ...more) => (name === 'logos/empty' ? undefined : get(name, ...more));
    const { trailer } = await backUp('lossy', undefined, never, lossy);
    expect(trailer.files).toBe(3);
    expect(trailer.left_out).toContainEqual({
      path: 'storage/logos/empty',
      reason: 'listed by the store, but not there',
    });
  });

  it('is at home where it was restored: its storage is the instance’s own, and no scheduler is missed', async () => {
    const marker = await storage.markerId();
    await knowsStorageMarker(kit.database.db, marker);
    await kit.database.pool.query(
      `insert into scheduler_processes (scheduler, started_at) values ('old:1', now())`,
    );
    const { bytes_of: file } = await backUp('moved');
    const restored = await restore(file);
    const here = await restored.storage.markerId();
    expect(here).not.toBe(marker);
    expect(await knowsStorageMarker(restored.database.db, here, { remember: false })).toBe(true);
    expect(await knowsStorageMarker(restored.database.db, marker, { remember: false })).toBe(false);
    expect((await restored.database.pool.query('select from scheduler_processes')).rows).toEqual([]);
    await kit.database.pool.query(`delete from instance_settings where key = 'storage_marker'`);
    await kit.database.pool.query('delete from scheduler_processes');
  });

  it('leaves the restored instance the backups that are there, itself among them', async () => {
    const gone = await backUp('lists');
    await storeIn('lists').store.delete(gone.file);
    const [before, made] = [await backUp('lists'), await backUp('lists')];
    const { database } = await restore(made.bytes_of, new Vault(key), 'lists');
    expect(await listBackups(database.db)).toMatchObject([
      { id: made.id, status: 'succeeded', phase: null, file: made.file, bytes: made.bytes_of.length },
      { id: before.id, status: 'succeeded', file: before.file, bytes: before.bytes_of.length },
    ]);
    expect((await dueBackup(database.db, '0 0 1 1 *')).due).toBeUndefined();
    const elsewhere = await restore(made.bytes_of);
    expect(await listBackups(elsewhere.database.db)).toEqual([]);
    expect((await dueBackup(elsewhere.database.db, '0 0 1 1 *')).due).toMatchObject({ trigger: 'schedule' });
  });

  it('replaces the files of homes in use only if it may', async () => {
    const { bytes_of: file } = await backUp('over');
    const homes = place('in-use');
    const files = await filesBelow(place('home', 'companies'));
    const [link = ''] = Object.keys(files).filter((name) => name.endsWith('elsewhere'));
    await mkdir(path.join(homes, link), { recursive: true });
    const target = await emptyDatabase(`over_${newId().slice(0, 8)}`);
    const options = { database_url: target.url, storage, homes, ...rest() };
    const begin = async () => Readable.from(chunks(file));
    await expect(restoreBackup(begin, options)).rejects.toThrow('which those of the backup would replace');
    expect(await readdir(homes, { recursive: true })).toHaveLength(link.split('/').length);
    await restoreBackup(begin, { ...options, into_homes: 'any' });
    expect(await filesBelow(homes)).toEqual(files);
  });

  it('that is cut off, changed, or of another key is refused before anything is changed', async () => {
    const { bytes_of: file } = await backUp('damaged');
    const flipped = Buffer.from(file);
    flipped[Math.floor(file.length / 2)]! ^= 1;
    for (const [bytes, message] of [
      [file.subarray(0, file.length - 1), /cut off|damaged/],
      [file.subarray(0, 200), /cut off|damaged|not a backup/],
      [flipped, /damaged/],
      [Buffer.concat([file, Buffer.from('x')]), /cut off|damaged/],
      [Buffer.from('PGDMP and more\n'), /not a backup/],
    ] as const) {
      const target = await emptyDatabase(`refused_${newId().slice(0, 8)}`);
      const options = { database_url: target.url, storage, homes: place('none'), ...rest() };
      await expect(restoreBackup(async () => Readable.from(chunks(bytes)), options)).rejects.toThrow(message);
      const { rows } = await target.database.pool.query(
        `select from pg_class where relnamespace = 'public'::regnamespace`,
      );
      expect(rows).toEqual([]);
    }
    await expect(
      verifyBackup(async () => Readable.from(chunks(file)), { vault: new Vault(Buffer.alloc(32, 8)) }),
    ).rejects.toThrow(/encryption key .* is not configured/);
    await expect(lstat(place('none'))).rejects.toThrow('ENOENT');
  });

  it('goes into an empty database only', async () => {
    const { bytes_of: file } = await backUp('occupied');
    const options = { database_url: kit.url, storage, homes: place('none'), ...rest() };
    await expect(restoreBackup(async () => Readable.from(chunks(file)), options)).rejects.toMatchObject({
      kind: 'conflict',
    });
  });

  it('whose restore was broken off is begun anew by itself alone, one at a time', async () => {
    const [one, other] = [await backUp('first'), await backUp('second')];
    const target = await emptyDatabase(`begun_${newId().slice(0, 8)}`);
    const homes = place('begun');
    const options = {
      database_url: target.url,
      storage: new LocalStorage(place('begun-storage')),
      homes,
      ...rest(),
    };
    const from = async ({ bytes_of }: { bytes_of: Buffer }, looks = async () => {}) => {
      let opened = 0;
      const begin = async () => {
        opened += 1;
        // The first two reads verify it.
        if (opened === 3) await looks();
        return Readable.from(chunks(bytes_of));
      };
      return restoreBackup(begin, options);
    };
    const cut = async () => {
      await expect(from(one)).rejects.toThrow('is being restored into this database already');
      throw new Error('cut');
    };
    await expect(from(one, cut)).rejects.toThrow('cut');
    await expect(from(other)).rejects.toThrow(`another backup (${one.id}) was broken off here`);
    await from(one);
    expect(await digest(target.database)).toEqual(await digest(kit.database));
    expect(await filesBelow(homes)).toEqual(await filesBelow(place('home', 'companies')));
    await expect(from(one)).rejects.toThrow(/the database \S+ is not empty/);
  });

  it('whose content compresses to almost nothing leaves no heap of buffers, neither written nor read', async () => {
    await mkdir(place('zeros/objects'), { recursive: true });
    const zeros = await open(place('zeros/objects/all'), 'w');
    await zeros.truncate(600 * MIB);
    await zeros.close();
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const looks = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }, 1);
    try {
      const { bytes } = await backUp('of-zeros', new Vault(key), never, new LocalStorage(place('zeros')));
      expect(bytes).toBeLessThan(10 * MIB);
    } finally {
      clearInterval(looks);
    }
    expect(most).toBeGreaterThan(MIB);
    expect(most).toBeLessThan(40 * MIB);
  });

  it('that is broken off leaves no file, and says so', async () => {
    for (const after_ms of [0, 20, 60, 120]) {
      const stop = AbortSignal.timeout(after_ms);
      await backUp('aborted', new Vault(key), stop).then(
        async ({ file }) => storeIn('aborted').store.delete(file),
        () => undefined,
      );
    }
    const left: string[] = [];
    for await (const { key: object } of storeIn('aborted').store.list('')) left.push(object);
    expect(left).toEqual([]);
    const rows = await listBackups(kit.database.db);
    expect(rows.filter(({ status }) => status === 'running')).toEqual([]);
    expect(rows.some(({ error }) => error === 'the process that made it was stopped')).toBe(true);
    await backUp('aborted');
    const told = (await recentNotifications(kit.database.db, 60)).filter(({ topic }) => topic === 'backup');
    expect(told.map(({ level }) => level)).toContain('error');
    expect(told.at(-1)).toMatchObject({
      level: 'info',
      company_id: null,
      message: 'a backup was made again',
    });
  });

  it('is made one at a time; one whose process is gone makes room', async () => {
    const { database } = kit;
    const by = { trigger: 'operator', claimed_by: 'dead' } as const;
    const dead = newId();
    await transaction(database, async (tx) => beginBackup(tx, dead, { ...by, file: 'dead.backup' }));
    const frozen = await connect(kit.url, `backup ${dead}`);
    await expect(backUp('second')).rejects.toMatchObject({ kind: 'conflict' });
    await database.pool.query(`update backups set updated_at = now() - interval '3 minutes'`);
    await mkdir(place('second/tmp'), { recursive: true });
    const partial = async (name: string, minutes: number) => {
      await writeFile(place('second/tmp', name), 'half');
      await utimes(place('second/tmp', name), 0, Date.now() / 1000 - minutes * 60);
    };
    await partial('of the killed one', 2);
    await partial('being written', 1);
    await expect(backUp('second')).resolves.toBeDefined();
    expect(await readdir(place('second/tmp'))).toEqual(['being written']);
    await expect(frozen.query('select 1')).rejects.toThrow(/terminat|not queryable/);
    expect((await listBackups(database.db)).map(({ status }) => status).toSorted()).toEqual([
      'failed',
      'succeeded',
    ]);
    const told = (await recentNotifications(database.db, 60)).filter(({ topic }) => topic === 'backup');
    expect(told.slice(-2).map(({ message }) => message)).toEqual([
      'a backup failed: the process that made it has ended',
      'a backup was made again',
    ]);
  });

  it('that is too old goes with its file, but never the newest', async () => {
    const old = await backUp('kept');
    await kit.database.pool.query(`update backups set started_at = now() - interval '90 days'`);
    const older = await backUp('kept');
    await kit.database.pool.query(`update backups set started_at = started_at - interval '40 days'`);
    expect(await storeIn('kept').store.exists(older.file)).toBe(true);
    expect(await storeIn('kept').store.exists(old.file)).toBe(false);
    const newest = await backUp('kept');
    expect(await storeIn('kept').store.exists(older.file)).toBe(false);
    expect((await listBackups(kit.database.db)).map(({ file }) => file)).toEqual([newest.file]);
  });

  it('stays although an old one can’t be deleted, which the next one tries again', async () => {
    const old = await backUp('stuck');
    await kit.database.pool.query(`update backups set started_at = now() - interval '90 days'`);
    const made = await backUp('stuck', new Vault(key), never, storage, async (file) => {
      if (file === old.file) throw unavailable('storage unavailable');
    });
    expect(await storeIn('stuck').store.exists(made.file)).toBe(true);
    expect((await listBackups(kit.database.db)).map(({ status }) => status)).toEqual([
      'succeeded',
      'succeeded',
    ]);
    await backUp('stuck');
    expect((await listBackups(kit.database.db)).map(({ file }) => file)).not.toContain(old.file);
  });
});
