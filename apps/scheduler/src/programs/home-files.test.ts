import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  deleteAgentFile,
  findAgent,
  listAgentFiles,
  putAgentFile,
  putFsSkill,
  reserveStorageKeys,
  systemActor,
} from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { newId, writeInside } from '@acp/kernel';
import { LocalStorage, type Storage } from '@acp/storage';
import { actors, createIssue, createRunningRun, databaseWithQueue } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { HeldFolder } from './held-folder.ts';
import { keepFiles, type KeepFileSources, writeHomeFiles, RunNotHeld } from './home-files.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'acp-home-files-'));
const storage = new LocalStorage(path.join(folder, 'storage'));
const director = systemActor('tests');
let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}

async function setUp() {
  const { ada, run } = await createRunningRun(database.db, { adapter_type: 'cli_a_local' });
  const agent = (await findAgent(database.db, ada.id))!;
  const home = mkdtempSync(path.join(folder, 'home-'));
  const store = async (at: string, text: string, kind: 'file' | 'skill' = 'file') => {
    const storage_key = `agents/${agent.id}/${newId()}`;
    await reserveStorageKeys(database.db, [storage_key]);
    const stored = await storage.put(storage_key, bytesOf(text), { max_bytes: 1e6 });
    const file = { storage_key, filename: at, content_type: 'text/plain', ...stored };
    await transaction(database, async (tx) =>
      kind === 'file'
        ? putAgentFile(tx, director, agent, at, file)
        : putFsSkill(tx, director, agent, { slug: at, content: text }, file, { fresh: true }),
    );
  };
  const retryTransient = async <T>(work: () => Promise<T>): Promise<T> => work();
  const sources = {
    database,
    storage,
    retryTransient,
    max_bytes: 1000,
    signal: new AbortController().signal,
  };
  const lay = async (from: Storage = storage) => writeHomeFiles({ ...sources, storage: from }, home, run);
  const keep = async (
    laid: Awaited<ReturnType<typeof lay>>,
    changes: Partial<KeepFileSources> = {},
    actor = actors.agent(agent),
  ) => keepFiles({ ...sources, ...changes }, home, { ...run, actor }, laid);
  const listed = async () =>
    (await listAgentFiles(database.db, agent, {})).items.map((file) => [file.path, file.size_bytes]);
  const inHome = (at: string) => path.join(home, at);
  return { agent, run, home, store, lay, keep, listed, inHome };
}

const SKILL = '---\nname: Binding\ndescription: How books are bound.\n---\n# Binding\n';

describe('the agent’s files in its home', () => {
  it('are laid in with its skills, and what an earlier run left there goes', async () => {
    const s = await setUp();
    await s.store('data/sales.csv', 'a,b');
    await s.store('binding', SKILL, 'skill');
    mkdirSync(s.inHome('files/old'), { recursive: true });
    writeFileSync(s.inHome('files/old/left.txt'), 'left');
    const laid = await s.lay();
    expect(readFileSync(s.inHome('files/data/sales.csv'), 'utf8')).toBe('a,b');
    expect(readFileSync(s.inHome('skills/binding/SKILL.md'), 'utf8')).toBe(SKILL);
    expect(existsSync(s.inHome('files/old/left.txt'))).toBe(false);
    expect([...laid]).toEqual([['data/sales.csv', createHash('sha256').update('a,b').digest('hex')]]);
    // Nothing has changed, so nothing is stored.
    expect(await s.keep(laid)).toEqual([]);
    expect(await s.listed()).toEqual([['data/sales.csv', 3]]);
  });

  it('that a run changed, added or removed are so for the next one, on whatever machine', async () => {
    const s = await setUp();
    for (const name of ['changed.txt', 'removed.txt', 'same.txt']) await s.store(name, name);
    const laid = await s.lay();
    writeFileSync(s.inHome('files/changed.txt'), 'now');
    rmSync(s.inHome('files/removed.txt'));
    mkdirSync(s.inHome('files/deep/er'), { recursive: true });
    writeFileSync(s.inHome('files/deep/er/added.txt'), 'new here');
    expect(await s.keep(laid)).toEqual([]);
    expect(await s.listed()).toEqual([
      ['changed.txt', 3],
      ['deep/er/added.txt', 8],
      ['same.txt', 8],
    ]);
    rmSync(s.home, { recursive: true });
    mkdirSync(s.home);
    await s.lay();
    expect(readFileSync(s.inHome('files/changed.txt'), 'utf8')).toBe('now');
    expect(readFileSync(s.inHome('files/deep/er/added.txt'), 'utf8')).toBe('new here');
  });

  it.each([
    ['other bytes', 'x,y'],
    ['less', 'a'],
    ['more', 'a,b,c'],
  ])('of which the store gives %s are not laid in, and so not kept as the agent’s own', async (_, wrong) => {
    const s = await setUp();
    await s.store('data/sales.csv', 'a,b');
    const [{ storage_key } = { storage_key: '' }] = await database.db
      .select({ storage_key: schema.agent_files.storage_key })
      .from(schema.agent_files)
      .where(eq(schema.agent_files.agent_id, s.agent.id));
    await storage.put(storage_key, bytesOf(wrong), { max_bytes: 100 });
    await expect(s.lay()).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the stored file is damaged: files/data/sales.csv',
    });
    expect(readdirSync(s.inHome('files/data'))).toEqual([]);
  });

  it('that were deleted elsewhere do not come back from the home', async () => {
    const s = await setUp();
    await s.store('gone.txt', 'gone');
    await s.lay();
    await transaction(database, async (tx) => deleteAgentFile(tx, director, s.agent, 'gone.txt'));
    const laid = await s.lay();
    expect(await s.keep(laid)).toEqual([]);
    expect(await s.listed()).toEqual([]);
  });

  it('are not kept when they are too large, oddly named or not the agent’s to write; the rest is', async () => {
    const s = await setUp();
    const laid = await s.lay();
    writeFileSync(s.inHome('files/large.bin'), 'x'.repeat(2000));
    writeFileSync(s.inHome('files/.hidden'), 'x');
    writeFileSync(s.inHome('files/fine.txt'), 'x');
    const complaints = await s.keep(laid);
    expect(complaints.toSorted()).toEqual([
      'files/.hidden was not kept: the path must be relative and consist of ordinary names',
      expect.stringMatching(/^files\/large\.bin was not kept: /),
    ]);
    expect(await s.listed()).toEqual([['fine.txt', 1]]);
    writeFileSync(s.inHome('files/more.txt'), 'x');
    const withheld = { ...actors.agent(s.agent), permissions: { 'files.write': false } };
    expect(await s.keep(laid, {}, withheld)).toContain(
      'files/more.txt was not kept: permission withheld: files.write',
    );
  });
});

describe('the home of an agent with two runs', () => {
  it('loses nothing that the other one has written and not stored yet', async () => {
    const s = await setUp();
    await s.lay();
    writeFileSync(s.inHome('files/draft.txt'), 'half of it');
    const issue = await createIssue(database.db, { id: s.agent.company_id });
    await database.db.insert(schema.heartbeat_runs).values({
      company_id: s.agent.company_id,
      agent_id: s.agent.id,
      issue_id: issue.id,
      status: 'running',
      wake_reason: 'manual',
      adapter_type: 'cli_a_local',
    });
    await s.lay();
    expect(readFileSync(s.inHome('files/draft.txt'), 'utf8')).toBe('half of it');
  });
});

describe('a file whose bytes are missing', () => {
  it('is left out, and its row is as it was when the run ends', async () => {
    const s = await setUp();
    await s.store('lost.txt', 'lost');
    for (const name of readdirSync(path.join(folder, 'storage'), { recursive: true }))
      if (String(name).includes(s.agent.id))
        rmSync(path.join(folder, 'storage', String(name)), { recursive: true, force: true });
    const laid = await s.lay();
    expect(existsSync(s.inHome('files/lost.txt'))).toBe(false);
    expect(await s.keep(laid)).toEqual([]);
    expect(await s.listed()).toEqual([['lost.txt', 4]]);
  });
});

describe('a home that leads elsewhere', () => {
  it('by links in the place of folders and files harms nothing outside, and loses them', async () => {
    const s = await setUp();
    await s.store('data/sales.csv', 'a,b');
    await s.store('plain.txt', 'plain');
    const outside = mkdtempSync(path.join(folder, 'outside-'));
    writeFileSync(path.join(outside, 'victim'), 'untouched');
    mkdirSync(s.inHome('files'));
    symlinkSync(outside, s.inHome('files/data'));
    symlinkSync(path.join(outside, 'victim'), s.inHome('files/plain.txt'));
    const laid = await s.lay();
    expect(readFileSync(path.join(outside, 'victim'), 'utf8')).toBe('untouched');
    expect(readdirSync(outside)).toEqual(['victim']);
    expect(readFileSync(s.inHome('files/data/sales.csv'), 'utf8')).toBe('a,b');
    expect(readFileSync(s.inHome('files/plain.txt'), 'utf8')).toBe('plain');
    // Nothing is read from there, either.
    rmSync(s.inHome('files/plain.txt'));
    symlinkSync(path.join(outside, 'victim'), s.inHome('files/stolen.txt'));
    expect(await s.keep(laid)).toEqual([]);
    expect(await s.listed()).toEqual([['data/sales.csv', 3]]);
  });

  it('when its file is about to be written: what the store has opened for it is closed', async () => {
    const s = await setUp();
    await s.store('plain.txt', 'plain');
    const opened: Readable[] = [];
    const get: Storage['get'] = async (key) => {
      const body = (await storage.get(key))!;
      opened.push(body);
      rmSync(s.home, { recursive: true });
      writeFileSync(s.home, 'no folder');
      return body;
    };
    const from = new Proxy<Storage>(storage, {
      get: (of, name) => (name === 'get' ? get : of[name as 'kind']),
    });
    await expect(s.lay(from)).rejects.toBeInstanceOf(Error);
    expect(opened.map(({ destroyed }) => destroyed)).toEqual([true]);
  });

  it('as a whole is found out before a byte is written', async () => {
    const s = await setUp();
    const outside = mkdtempSync(path.join(folder, 'outside-'));
    mkdirSync(path.join(outside, 'data'));
    symlinkSync(outside, s.inHome('files'));
    await expect(writeInside(s.home, 'files/data/x', bytesOf('x'))).resolves.toBeUndefined();
    // The link itself was removed, since only a folder may be there.
    expect(readdirSync(path.join(outside, 'data'))).toEqual([]);
    expect(readFileSync(s.inHome('files/data/x'), 'utf8')).toBe('x');
  });

  it.each(['files', 'skills'])(
    'by its whole folder %s: what lies there is not listed, read or removed',
    async (top) => {
      const s = await setUp();
      await s.store('plain.txt', 'plain');
      await s.store('binding', SKILL, 'skill');
      const outside = mkdtempSync(path.join(folder, 'outside-'));
      writeFileSync(path.join(outside, 'victim'), 'untouched');
      symlinkSync(outside, s.inHome(top));
      const laid = await s.lay();
      expect(readdirSync(outside)).toEqual(['victim']);
      expect(readFileSync(path.join(outside, 'victim'), 'utf8')).toBe('untouched');
      expect(readFileSync(s.inHome('files/plain.txt'), 'utf8')).toBe('plain');
      // It becomes a link again while the program runs.
      rmSync(s.inHome(top), { recursive: true });
      symlinkSync(outside, s.inHome(top));
      await s.keep(laid);
      expect((await s.listed()).map(([at]) => at)).not.toContain('victim');
      expect(readdirSync(outside)).toEqual(['victim']);
    },
  );

  it('by a hard link writes a file of its own, not the one that it shares', async () => {
    const s = await setUp();
    await s.store('plain.txt', 'plain');
    const shared = path.join(folder, newId());
    writeFileSync(shared, 'untouched');
    mkdirSync(s.inHome('files'));
    linkSync(shared, s.inHome('files/plain.txt'));
    await s.lay();
    expect(readFileSync(shared, 'utf8')).toBe('untouched');
    expect(readFileSync(s.inHome('files/plain.txt'), 'utf8')).toBe('plain');
  });

  it('by a pipe or an unreadable file keeps no run waiting', async () => {
    const s = await setUp();
    const laid = await s.lay();
    execFileSync('mkfifo', [s.inHome('files/pipe')]);
    writeFileSync(s.inHome('files/locked'), 'x');
    chmodSync(s.inHome('files/locked'), 0o000);
    expect(await s.keep(laid)).toEqual([]);
    await s.store('pipe', 'now a file');
    await s.lay();
    expect(readFileSync(s.inHome('files/pipe'), 'utf8')).toBe('now a file');
  });
});

describe('files at the end of a run', () => {
  it('that claim more bytes than any disk has are not read, nor wait past their time', async () => {
    const s = await setUp();
    const laid = await s.lay();
    writeFileSync(s.inHome('files/sparse'), '');
    truncateSync(s.inHome('files/sparse'), 400e9);
    writeFileSync(s.inHome('files/fine.txt'), 'x');
    expect(await s.keep(laid)).toEqual(['files/sparse was not kept: it is larger than 1000 bytes']);
    expect(await s.listed()).toEqual([['fine.txt', 1]]);
    // Within the size limit it is read, for as long as there is time.
    const signal = AbortSignal.timeout(20);
    expect(await s.keep(laid, { max_bytes: 500e9, signal })).toEqual([
      'files was not kept as a whole: the time for it was over',
    ]);
  });

  it('that no look was left for, among more names than are read, are not taken for removed', async () => {
    const s = await setUp();
    for (const name of ['notes/same.txt', 'notes/changed.txt', 'notes/removed.txt'])
      await s.store(name, 'old');
    const laid = await s.lay();
    for (let n = 0; n < 20_001; n += 1) symlinkSync('nowhere', s.inHome(`files/link-${n}`));
    writeFileSync(s.inHome('files/notes/changed.txt'), 'newer');
    rmSync(s.inHome('files/notes/removed.txt'));
    expect(await s.keep(laid)).toEqual([]);
    expect(await s.listed()).toEqual([
      ['notes/changed.txt', 5],
      ['notes/same.txt', 3],
    ]);
  });

  it('are not written once the run is somebody else’s', async () => {
    const s = await setUp();
    await s.store('kept.txt', 'kept');
    const laid = await s.lay();
    writeFileSync(s.inHome('files/late.txt'), 'late');
    await database.db
      .update(schema.heartbeat_runs)
      .set({ fence: s.run.fence + 1 })
      .where(eq(schema.heartbeat_runs.id, s.run.run_id));
    await expect(s.keep(laid)).rejects.toThrow(RunNotHeld);
    rmSync(s.inHome('files'), { recursive: true });
    await expect(s.keep(laid)).rejects.toThrow(RunNotHeld);
    expect(await s.listed()).toEqual([['kept.txt', 4]]);
  });

  it('are kept when the database was away for a moment, and in the meantime nothing is lost', async () => {
    const s = await setUp();
    await s.store('gone.txt', 'gone');
    const laid = await s.lay();
    writeFileSync(s.inHome('files/new.txt'), 'new');
    rmSync(s.inHome('files/gone.txt'));
    // Each write takes effect, but its answer is lost.
    const retryTransient = async <T>(work: () => Promise<T>): Promise<T> => {
      await work();
      return work();
    };
    expect(await s.keep(laid, { retryTransient })).toEqual([]);
    expect(await s.listed()).toEqual([['new.txt', 3]]);
  });
});

describe('a home that is held', () => {
  it('is the folder that was opened, wherever its path leads by then', async () => {
    const s = await setUp();
    const held = await HeldFolder.open(s.home);
    const stranger = mkdtempSync(path.join(folder, 'stranger-'));
    renameSync(s.home, `${s.home}-moved`);
    symlinkSync(stranger, s.home);
    await expect(held.assertInPlace()).rejects.toThrow('exchanged');
    await writeInside(held.here, 'files/x', bytesOf('x'));
    expect(readdirSync(stranger)).toEqual([]);
    expect(readFileSync(`${s.home}-moved/files/x`, 'utf8')).toBe('x');
    await held.close();
    await expect(HeldFolder.open(s.home)).rejects.toThrow('not a folder');
  });
});
