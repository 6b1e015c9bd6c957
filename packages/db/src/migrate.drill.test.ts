import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cloneDatabase, testLogger, waitFor } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate, migrationsFolder, migrationStatus, openDatabase } from './index.ts';
import type { Database } from './index.ts';

interface Journal {
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
}

const logger = testLogger();
const opened: Database[] = [];
let test: TestDatabase;
let folders: string;

beforeAll(async () => {
  test = await cloneDatabase('migrate');
  folders = await mkdtemp(join(tmpdir(), 'acp-migrations-'));
});

afterAll(async () => {
  await Promise.all(opened.map(async (database) => database.close()));
  await rm(folders, { recursive: true });
});

async function emptyDatabase(label: string): Promise<{ url: string; database: Database }> {
  const name = `${test.name}_${label}`;
  await test.database.pool.query(`create database ${name} template template0`);
  const url = new URL(test.url);
  url.pathname = `/${name}`;
  const database = openDatabase({ url: url.href, max: 2, application_name: 'test' });
  opened.push(database);
  return { url: url.href, database };
}

/** This release's migrations plus one. */
async function folderWith(tag: string, when: (last: number) => number): Promise<string> {
  const folder = join(folders, tag);
  await cp(migrationsFolder, folder, { recursive: true });
  const path = join(folder, 'meta/_journal.json');
  const journal = JSON.parse(await readFile(path, 'utf8')) as Journal;
  const last = journal.entries.at(-1);
  if (last === undefined) throw new Error('no migrations');
  journal.entries.push({ ...last, idx: last.idx + 1, tag, when: when(last.when) });
  await writeFile(path, JSON.stringify(journal));
  await writeFile(join(folder, `${tag}.sql`), 'create table one_more (id int)');
  return folder;
}

describe('migrate', () => {
  it('called four times at once on an empty database runs every migration and hook in turn', async () => {
    const { url, database } = await emptyDatabase('four');
    let inside = 0;
    let most = 0;
    const hook = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await database.db.execute(sql`select pg_sleep(0.05)`);
      inside -= 1;
    };
    await Promise.all([1, 2, 3, 4].map(async () => migrate({ url, logger, after: [hook] })));
    expect(most).toBe(1);
    const status = await migrationStatus(database.db);
    expect(status).toEqual({ known: status.known, applied: status.known, pending: 0, unknown: 0 });
    const { rows } = await database.db.execute(
      sql`select count(*)::int as n from drizzle.__drizzle_migrations`,
    );
    expect(rows).toEqual([{ n: status.known }]);
  });

  it('on an empty database knows what is pending before and nothing after', async () => {
    const { url, database } = await emptyDatabase('status');
    const before = await migrationStatus(database.db);
    expect(before).toMatchObject({ applied: 0, pending: before.known });
    await migrate({ url });
    expect(await migrationStatus(database.db)).toMatchObject({ applied: before.known, pending: 0 });
  });

  it('up to an earlier release applies its migrations only, again nothing, and goes on from there', async () => {
    const { url, database } = await emptyDatabase('earlier');
    for (const _ of [1, 2]) {
      await migrate({ url, first: 5 });
      expect(await migrationStatus(database.db)).toMatchObject({ applied: 5 });
    }
    await migrate({ url });
    expect(await migrationStatus(database.db)).toMatchObject({ pending: 0 });
  });

  it('refuses a schema that a newer release has migrated', async () => {
    const { url, database } = await emptyDatabase('newer');
    await migrate({ url, folder: await folderWith('9999_newer', (last) => last + 1) });
    // For an operator, who needs no stack.
    await expect(migrate({ url })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('newer than this release') as unknown,
    });
    expect(await migrationStatus(database.db)).toMatchObject({ pending: 0, unknown: 1 });
  });

  it('refuses a migration that was changed after it was applied', async () => {
    const { url } = await emptyDatabase('changed');
    const folder = await folderWith('9999_changed', (last) => last + 1);
    await migrate({ url, folder });
    await writeFile(join(folder, '9999_changed.sql'), 'create table another (id int)');
    await expect(migrate({ url, folder })).rejects.toThrow('changed afterwards');
  });

  it('refuses to pass over a migration that is older than the last applied one', async () => {
    const { url } = await emptyDatabase('older');
    await migrate({ url });
    const folder = await folderWith('0000_late', (last) => last - 1);
    await expect(migrate({ url, folder })).rejects.toThrow('older than the last applied one');
  });
});

/** This release's migrations, plus one for a database that already has all of them. */
async function folderWithText(tag: string, text: string): Promise<string> {
  const folder = await folderWith(tag, (last) => last + 1);
  await writeFile(join(folder, `${tag}.sql`), text);
  return folder;
}

describe('migrate, where others work', () => {
  it('gives way to who holds a table, comes again, and lets readers through meanwhile', async () => {
    const { url, database } = await emptyDatabase('busy');
    await migrate({ url });
    const folder = await folderWithText('9999_busy', 'alter table issues add column one_more int');
    const holder = await database.pool.connect();
    await holder.query('begin');
    await holder.query('select count(*) from issues');
    const migrating = migrate({ url, folder });
    // The migration soon gives up, so a reader that queued behind it is served before the holder ends.
    const waits = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event = 'relation'`;
    await waitFor(async () => (await database.pool.query(waits)).rows[0].n > 0);
    await database.pool.query('select count(*) from issues');
    await holder.query('commit');
    holder.release();
    await migrating;
    expect((await database.pool.query('select one_more from issues')).rows).toEqual([]);
  });

  it.each([
    ['gives up before somebody who holds what it needs becomes the victim of a deadlock', ''],
    ['tries again if it becomes the victim of a deadlock', '?options=-c%20deadlock_timeout%3D10ms'],
  ])('%s', async (_title, options) => {
    const { url, database } = await emptyDatabase(options === '' ? 'cycle' : 'victim');
    await migrate({ url });
    const folder = await folderWithText(
      options === '' ? '9999_cycle' : '9999_victim',
      'alter table issues add column one_more int;--> statement-breakpoint\nalter table agents add column one_more int',
    );
    const holder = await database.pool.connect();
    await holder.query('begin');
    await holder.query('select count(*) from agents');
    const migrating = migrate({ url: `${url}${options}`, folder });
    const waits = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event = 'relation'`;
    await waitFor(async () => (await database.pool.query(waits)).rows[0].n > 0);
    await holder.query('select count(*) from issues');
    await holder.query('commit');
    holder.release();
    await migrating;
    expect((await database.pool.query('select one_more from issues')).rows).toEqual([]);
  });

  it('builds an index concurrently, and again where that was cut off', async () => {
    const { url, database } = await emptyDatabase('concurrent');
    await migrate({ url });
    const index = 'create unique index concurrently if not exists once on companies (name)';
    await database.pool.query(
      `insert into companies (name, slug, identifier_prefix) values ('same', 'a', 'A'), ('same', 'b', 'B')`,
    );
    const folder = await folderWithText('9999_index', index);
    await expect(migrate({ url, folder })).rejects.toThrow(index);
    const valid = `select indisvalid from pg_index where indexrelid = to_regclass('once')`;
    expect((await database.pool.query(valid)).rows).toEqual([{ indisvalid: false }]);
    await database.pool.query(`delete from companies where slug = 'b'`);
    await migrate({ url, folder });
    expect((await database.pool.query(valid)).rows).toEqual([{ indisvalid: true }]);
    expect(await migrationStatus(database.db, folder)).toMatchObject({ pending: 0 });
  });

  it('goes on after a process that froze while it held the lock', async () => {
    const { url, database } = await emptyDatabase('frozen');
    const program = `import { migrate } from './index.ts';
      const hook = async () => { console.log('in the hook'); await new Promise(() => setInterval(() => {}, 1000)); };
      await migrate({ url: process.argv[1], after: [hook], holder_silence_ms: 1000 });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, url], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await once(child.stdout, 'data');
      const waiting = migrate({ url, logger });
      // For several times the silence that is allowed: as long as it gives signs of life, it keeps the lock.
      await database.db.execute(sql`select pg_sleep(2.5)`);
      const holders = sql`select from pg_locks l join pg_stat_activity a using (pid)
        where l.locktype = 'advisory' and a.datname = current_database()`;
      expect((await database.db.execute(holders)).rows).toHaveLength(1);
      child.kill('SIGSTOP');
      await waiting;
    } finally {
      child.kill('SIGKILL');
    }
    expect(await migrationStatus(database.db)).toMatchObject({ pending: 0 });
  });
});
