/** `db backup` and `db restore` as run by an operator, and what remains when their process is killed. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { once } from 'node:events';
import { createNote, listBackups, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import { LocalStorage } from '@acp/storage';
import {
  cloneDatabase,
  createAgent,
  createCompany,
  emptyDatabase,
  type TestDatabase,
  waitFor,
} from '@acp/testkit';

const SIZE = 24_000_000;
const main = path.resolve(import.meta.dirname, '../main.mjs');
let folder: string;
let kit: TestDatabase;
let bytes: Buffer;

const place = (...names: string[]) => path.join(folder, ...names);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ctl-backup-'));
  kit = await cloneDatabase('ctl_backups');
  const company = await createCompany(kit.database.db);
  const agent = await createAgent(kit.database.db, company);
  await transaction(kit.database, async (tx) =>
    createNote(tx, systemActor('test'), company.id, { title: 'Tides', body_markdown: 'High at noon.' }),
  );
  bytes = randomBytes(SIZE);
  await new LocalStorage(place('home/storage')).put('attachments/chart', Readable.from([bytes]), {
    max_bytes: SIZE,
  });
  const home = place('home/companies', company.id, 'agents', agent.id);
  await mkdir(home, { recursive: true });
  await writeFile(path.join(home, 'log'), 'Calm.');
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

interface Ended {
  status: number | null;
  text: string;
}

/** Its files can have 4 MB, and what it then gets from the system is what a full disk gives it. */
const LITTLE_ROOM = ['-c', 'ulimit -f 8192; exec "$0" "$@"', process.execPath];

function ctl(words: readonly string[], home: string, { url = kit.url, little_room = false } = {}) {
  const [program, before] = little_room ? ['sh', LITTLE_ROOM] : [process.execPath, []];
  const child = spawn(program, [...before, main, ...words], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: url,
      SERVICE_HOME: place(home),
      SERVICE_ENCRYPTION_KEY: '7'.repeat(64),
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more: string) => (text += more));
  const ended = once(child, 'close').then(([status]): Ended => ({ status: status as number | null, text }));
  /** Kills the process as soon as the condition is met. */
  const killOnce = async (isSo: () => Promise<boolean>): Promise<void> => {
    const over = ended.then(({ text: said }) => {
      throw new Error(`it ended before it could be killed: ${said}`);
    });
    over.catch(() => undefined);
    await Promise.race([waitFor(isSo, { interval_ms: 2 }), over]);
    child.kill('SIGKILL');
    expect((await ended).status).toBeNull();
  };
  return { ended, killOnce };
}

const filesIn = async (...names: string[]) => readdir(place(...names)).catch(() => []);
const homesIn = async (home: string) =>
  (await readdir(place(home, 'companies'), { recursive: true })).toSorted();
const made = async () => filesIn('home/backups/objects');
/** Size of the file being written. */
const written = async () => {
  const [name] = await filesIn('home/backups/tmp');
  return name === undefined
    ? 0
    : (await stat(place('home/backups/tmp', name)).catch(() => ({ size: 0 }))).size;
};
/** Treats anything silent for this long as finished. */
const giveUp = async () =>
  kit.database.pool.query(
    `update backups set updated_at = now() - interval '3 minutes' where status = 'running'`,
  );

/** Digest of everything that backups leave unchanged; events are excluded, since failed backups create some. */
async function digest({ database: { pool } }: TestDatabase): Promise<Record<string, string>> {
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
      and not relispartition
      and relname not in ('backups', 'outbox', 'events', 'event_sequence') order by 1`,
  );
  const sums = rows.map(
    ({ name }) =>
      `select '${name}' as name, count(*) || md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as sum from "${name}" t`,
  );
  const found = await pool.query<{ name: string; sum: string }>(sums.join(' union all '));
  return Object.fromEntries(found.rows.map(({ name, sum }) => [name, sum]));
}

async function eventIds({ database: { pool } }: TestDatabase): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    'select id from events union all select event_id from outbox',
  );
  return rows.map(({ id }) => id);
}

const NO_ROOM = 'EFBIG: file too large, write';

describe('a backup from the command line', () => {
  it('that is killed or finds no room counts for nothing and leaves nothing; the next one is restored to the last byte elsewhere', async () => {
    const before = await digest(kit);
    const some = randomInt(1, SIZE / 2);
    await ctl(['db', 'backup'], 'home').killOnce(async () => (await written()) >= some);
    expect(await made()).toEqual([]);
    const early = await ctl(['db', 'backup'], 'home').ended;
    expect(early).toMatchObject({
      status: 1,
      text: expect.stringContaining('a backup is already in progress'),
    });
    await giveUp();
    // While it is reading back what it has written.
    await ctl(['db', 'backup'], 'home').killOnce(async () => (await made()).length > 0);
    await giveUp();
    const halves = await filesIn('home/backups/tmp');
    const full = await ctl(['db', 'backup'], 'home', { little_room: true }).ended;
    expect(full).toEqual({ status: 1, text: `storage unavailable: ${NO_ROOM}\n` });
    expect(await filesIn('home/backups/tmp')).toEqual(halves);
    const events = await eventIds(kit);
    expect(events).not.toEqual([]);
    expect(await ctl(['db', 'backup'], 'home').ended).toMatchObject({ status: 0 });
    const [last, ...broken] = await listBackups(kit.database.db);
    const killed = ['failed', null, 'the process that made it has ended'];
    expect(broken.map(({ status, file, error }) => [status, file, error])).toEqual([
      ['failed', null, `storage unavailable: ${NO_ROOM}`],
      killed,
      killed,
    ]);
    expect(await made()).toEqual([last!.file]);

    const file = place('home/backups/objects', last!.file!);
    const target = await emptyDatabase('ctl_restored');
    const lost = await ctl(['db', 'backups'], 'home', { url: target.url }).ended;
    expect(lost).toMatchObject({ status: 0, text: expect.stringContaining(`${last!.file} `) });
    const restore = (little_room = false) =>
      ctl(['db', 'restore', '--file', file, '--into', target.url], 'other', { little_room });
    const holds = async (text: string) =>
      (await target.database.pool.query<{ holds: boolean }>(`select ${text} as holds`)).rows[0]!.holds;
    const atWork = () =>
      holds(
        `exists (select from pg_stat_activity where application_name = 'restore' and datname = current_database())`,
      );
    await restore().killOnce(() => holds(`to_regclass('restoring.backup') is not null`));
    await waitFor(async () => !(await atWork()));
    const start = await ctl(['db', 'migrate'], 'other', { url: target.url }).ended;
    expect(start).toMatchObject({ status: 1, text: expect.stringContaining('its restore was broken off') });
    // The second time while files are being restored, before their rows.
    await restore().killOnce(async () => (await filesIn('other/storage/tmp')).length > 0);
    await waitFor(async () => !(await atWork()));
    expect(await restore(true).ended).toEqual({
      status: 1,
      text: `the restore was broken off, and the same command starts over: ${NO_ROOM}\n`,
    });
    expect(await holds('exists (select from companies)')).toBe(false);
    expect(await restore().ended).toMatchObject({
      status: 0,
      text: expect.stringContaining('restored the backup of'),
    });
    expect(await digest(target)).toEqual(before);
    const restored = await eventIds(target);
    expect(new Set(restored).size).toBe(restored.length);
    expect(restored).toEqual(expect.arrayContaining(events));
    expect(bytes.equals(await readFile(place('other/storage/objects/attachments/chart')))).toBe(true);
    expect(await homesIn('other')).toEqual(await homesIn('home'));
    const again = await restore().ended;
    expect(again).toMatchObject({ status: 1, text: expect.stringMatching(/the database \S+ is not empty/) });
  });

  it('names the files that rows name and that it lacks, when it is made, when it is verified, and when it is restored', async () => {
    const { database } = kit;
    await giveUp();
    const company = await createCompany(database.db);
    const of = `storage_key) select '${company.id}', 'logo', 'image/png', 1`;
    const add = async (key: string) =>
      database.pool.query(
        `insert into assets (company_id, filename, content_type, size_bytes, ${of}, '${key}'`,
      );
    for (let n = 0; n < 11; n += 1) await add(`assets/lost/${n}`);
    const reason = 'a row of assets names it, but the store lost it';
    const backup = await ctl(['db', 'backup'], 'home').ended;
    expect(backup.text).toContain(`\nleft out: storage/assets/lost/0 (${reason})`);
    expect(backup.text).toContain('\nleft out: storage (1 more files were lost likewise)');
    const [{ file } = { file: '' }] = await listBackups(database.db);
    const told = expect.stringMatching(
      /files, without 11 that rows name\nmissing: assets\/lost\/0 \(a row of assets names it, but the store lost it\)\n(.*\n)*and 1 more\n$/,
    );
    expect(await ctl(['db', 'verify', '--file', file!], 'home').ended).toEqual({ status: 0, text: told });
    const all = place('missing');
    const listing = ['db', 'verify', '--file', file!, '--missing', all];
    expect(await ctl(listing, 'home').ended).toMatchObject({ status: 0 });
    const names = (await readFile(all, 'utf8')).trimEnd().split('\n');
    expect(names.toSorted()).toEqual(
      Array.from({ length: 11 }, (_, n) => `assets/lost/${n}\tassets`).toSorted(),
    );
    expect(await ctl(listing, 'home').ended).toMatchObject({
      status: 1,
      text: expect.stringContaining('EEXIST'),
    });
    const target = await emptyDatabase('ctl_without');
    const kept = place('home/backups/objects', file!);
    const restore = ctl(['db', 'restore', '--file', kept, '--into', target.url], 'without');
    expect(await restore.ended).toEqual({ status: 0, text: told });
  });
});
