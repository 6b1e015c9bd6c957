/** The same tests for both stores: what core and the tiers rely on must not depend on the configuration. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { loadConfig } from '@acp/kernel';
import { startS3Server } from '@acp/testkit';
import type { S3Server } from '@acp/testkit';
import { guardedBody } from './guarded-body.ts';
import { FileStore, openStorage } from './index.ts';
import { partBytes, S3Storage } from './s3.ts';
import type { Storage } from './index.ts';

let folder: string;
let server: S3Server;
const stores = new Map<string, Storage>();
const away = { kind: 'unavailable', message: 'storage unavailable', retry_after_sec: 5 };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acp-storage-'));
  server = await startS3Server();
  stores.set('local', await openStorage(loadConfig({ SERVICE_HOME: folder })));
  stores.set('s3', await openStorage(loadConfig(server.environment)));
  stores.set(
    'no bucket',
    await openStorage(loadConfig({ ...server.environment, SERVICE_S3_BUCKET: 'nothing' })),
  );
});

afterAll(async () => {
  for (const store of stores.values()) store.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function* chunks(bytes: Buffer, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function* brokenOff(): AsyncGenerator<Uint8Array> {
  yield randomBytes(1000);
  throw new Error('the client went away');
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const item of items) read.push(item);
  return read;
}

const read = async (body: Readable | undefined) => (body === undefined ? undefined : buffer(body));
const max = { max_bytes: 100_000_000 };

it('the parts of an object are as many as a bucket takes, however large it is', () => {
  for (const gb of [0, 40, 50, 1000])
    expect(Math.ceil((gb * 1024 ** 3) / partBytes(gb * 1024 ** 3))).toBeLessThan(10_000);
  expect([partBytes(0), partBytes(40 * 1024 ** 3)]).toEqual([5 * 1024 ** 2, 5 * 1024 ** 2]);
});

describe.each(['local', 's3'])('the %s store', (name) => {
  const store = () => stores.get(name)!;
  const put = (key: string, bytes: Buffer, options = max) => store().put(key, chunks(bytes), options);
  const keys = async (prefix: string) => (await all(store().list(prefix))).map(({ key }) => key);

  it('gives back what was put, and says its size and hash', async () => {
    const bytes = randomBytes(300_000);
    const stored = await put('a/one', bytes);
    expect(stored).toEqual({ size_bytes: 300_000, sha256: createHash('sha256').update(bytes).digest('hex') });
    expect(await read(await store().get('a/one'))).toEqual(bytes);
    expect(await store().size('a/one')).toBe(300_000);
  });

  it('takes an empty object, and one of many parts', async () => {
    await put('a/empty', Buffer.alloc(0));
    expect(await read(await store().get('a/empty'))).toEqual(Buffer.alloc(0));
    const large = randomBytes(12 * 1024 * 1024);
    for (const expected_bytes of [undefined, 60 * 1024 ** 3]) {
      await put('a/large', large, { ...max, ...(expected_bytes && { expected_bytes }) });
      expect((await read(await store().get('a/large')))?.equals(large)).toBe(true);
    }
  });

  it('gives a part of an object, first and last byte included', async () => {
    await put('a/digits', Buffer.from('0123456789'));
    expect(String(await read(await store().get('a/digits', { start: 2, end: 4 })))).toBe('234');
    expect(String(await read(await store().get('a/digits', { start: 9, end: 9 })))).toBe('9');
  });

  it('puts a new object in the place of an old one', async () => {
    await put('a/again', Buffer.from('old and longer'));
    await put('a/again', Buffer.from('new'));
    expect(String(await read(await store().get('a/again')))).toBe('new');
  });

  it('has nothing under a key that was never put, or is deleted, twice even', async () => {
    expect(await store().get('a/never')).toBeUndefined();
    await put('a/gone', Buffer.from('x'));
    expect(await store().exists('a/gone')).toBe(true);
    await store().delete('a/gone');
    await store().delete('a/gone');
    expect(await store().exists('a/gone')).toBe(false);
    expect(await store().size('a/gone')).toBeUndefined();
  });

  it('deletes many at once, those that never were among them', async () => {
    const many = Array.from({ length: 30 }, (_, n) => `many/${n} ä`);
    for (const key of many) await put(key, Buffer.from('x'));
    const unknown = ['many/never', 'nothing/never'];
    expect(await store().deleteAll([...unknown, ...many.slice(1)])).toEqual({
      gone: expect.arrayContaining([...unknown, ...many.slice(1)]),
    });
    expect(await keys('many/')).toEqual(many.slice(0, 1));
    expect(await store().deleteAll([])).toEqual({ gone: [] });
    await expect(store().deleteAll(['many/x', '../x'])).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('lists a folder and all below it, and nothing beside it', async () => {
    for (const key of ['l/x/1', 'l/x/y/2 ä', 'l/xx/3', 'l/.hidden']) await put(key, Buffer.from('x'));
    expect((await keys('l/x/')).toSorted()).toEqual(['l/x/1', 'l/x/y/2 ä']);
    expect((await keys('l/')).toSorted()).toEqual(['l/.hidden', 'l/x/1', 'l/x/y/2 ä', 'l/xx/3']);
    expect(await keys('nothing/')).toEqual([]);
  });

  it('stops at the limit, whatever it had taken by then, and leaves nothing', async () => {
    for (const size of [11, 9_000_000]) {
      const limit = { max_bytes: size - 1 };
      await expect(put('limit/x', randomBytes(size), limit)).rejects.toMatchObject({ kind: 'too_large' });
    }
    await put('limit/fits', randomBytes(11), { max_bytes: 11 });
    expect(await keys('limit/')).toEqual(['limit/fits']);
  });

  it('a body that breaks off: its error comes through and the old object stays', async () => {
    await put('a/kept', Buffer.from('kept'));
    await expect(store().put('a/kept', brokenOff(), max)).rejects.toThrow('the client went away');
    expect(String(await read(await store().get('a/kept')))).toBe('kept');
  });

  it('an aborted put leaves nothing', async () => {
    const abort = new AbortController();
    const endless = async function* () {
      yield randomBytes(1000);
      abort.abort(new Error('enough'));
      yield randomBytes(1000);
    };
    const putting = store().put('aborted/x', endless(), { ...max, signal: abort.signal });
    await expect(putting).rejects.toThrow('enough');
    expect(await keys('aborted/')).toEqual([]);
  });

  it.each([
    '',
    '/etc/passwd',
    '../x',
    'a/../../x',
    'a/./x',
    'a//x',
    'a/',
    'a/..',
    'a\\..\\x',
    'a/\0',
    'a/\n',
    'a/\ud800',
    `a/${'x'.repeat(241)}`,
    'y/'.repeat(600) + 'x',
  ])('refuses the key %j', async (key) => {
    await expect(put(key, Buffer.from('x'))).rejects.toMatchObject({ kind: 'invalid' });
    await expect(store().get(key)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(store().delete(key)).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('refuses to list what is no folder', async () => {
    await expect(keys('a')).rejects.toMatchObject({ kind: 'invalid' });
    await expect(keys('a/../')).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('concurrent puts and deletes under one folder: every put that was told to be done is there', async () => {
    const names = Array.from({ length: 20 }, (_each, index) => `busy/${index % 2}/${index}`);
    await Promise.all(
      names.map(async (key) => {
        await put(key, Buffer.from(key));
        if (Number(key.at(-1)) % 3 === 0) await store().delete(key);
      }),
    );
    const expected = names.filter((key) => Number(key.at(-1)) % 3 !== 0);
    expect((await keys('busy/')).toSorted()).toEqual(expected.toSorted());
  });

  it('removes leftovers without touching what is whole', async () => {
    await put('a/whole', Buffer.from('whole'));
    await store().removeLeftovers(new Date(Date.now() + 1000));
    expect(await store().exists('a/whole')).toBe(true);
  });
});

describe('an S3 store in a shared bucket', () => {
  const settings = () => ({
    bucket: server.environment.SERVICE_S3_BUCKET!,
    region: 'us-east-1',
    endpoint: server.environment.SERVICE_S3_ENDPOINT!,
    access_key_id: 'S3RVER',
    secret_access_key: 'S3RVER',
    force_path_style: true,
  });

  it('keeps to its prefix: instances with different ones see nothing of each other', async () => {
    const [one, two] = [
      new S3Storage({ ...settings(), prefix: 'one/' }),
      new S3Storage({ ...settings(), prefix: 'two/' }),
    ];
    await one.put('shared/x', chunks(Buffer.from('1')), max);
    await two.put('shared/x', chunks(Buffer.from('2')), max);
    expect((await all(one.list(''))).map(({ key }) => key)).toEqual(['shared/x']);
    await one.delete('shared/x');
    expect([await one.exists('shared/x'), String(await read(await two.get('shared/x')))]).toEqual([
      false,
      '2',
    ]);
  });

  it('lets one owner hold so many bodies, and others have theirs; a closed one is given back', async () => {
    const store = new S3Storage({ ...settings(), prefix: '' });
    for (const key of ['files/greedy/x', 'files/other/x'])
      await store.put(key, chunks(Buffer.from('x')), max);
    const held = await Promise.all(Array.from({ length: 32 }, async () => store.get('files/greedy/x')));
    await expect(store.get('files/greedy/x')).rejects.toMatchObject({ kind: 'unavailable' });
    expect(String(await read(await store.get('files/other/x')))).toBe('x');
    const [first] = held;
    const closed = new Promise((done) => void first!.once('close', done));
    first!.destroy();
    await closed;
    expect(String(await read(await store.get('files/greedy/x')))).toBe('x');
    for (const body of held) body!.destroy();
    store.close();
  });
});

describe('a body', () => {
  it('whose store falls silent, or resets the connection, fails as unavailable', async () => {
    const closed: string[] = [];
    const guard = (name: string, silence_ms: number) => ({
      fault: (error: unknown) => new Error(`unavailable: ${String(error)}`),
      closed: () => void closed.push(name),
      silence_ms,
    });
    const silent = guardedBody(new Readable({ read: () => undefined }), guard('silent', 20));
    await expect(buffer(silent)).rejects.toThrow('unavailable: Error: the store stopped answering');
    const reset = new Readable({
      read() {
        this.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
      },
    });
    await expect(buffer(guardedBody(reset, guard('reset', 1000)))).rejects.toThrow('unavailable');
    expect(closed).toEqual(['silent', 'reset']);
  });
});

describe('a store that can’t be used', () => {
  it('says so, whatever it is asked', async () => {
    await expect(stores.get('no bucket')!.put('a', chunks(Buffer.from('x')), max)).rejects.toMatchObject(
      away,
    );
    await expect(all(stores.get('no bucket')!.list(''))).rejects.toMatchObject(away);
  });
});

it('a text in passing lies under a key that is written down as an orphan’s before it is stored', async () => {
  const reserved: string[] = [];
  const ledger = {
    reserve: async (keys: readonly string[]) => Promise.resolve(void reserved.push(...keys)),
    claim: async () => Promise.resolve([]),
    forget: async () => Promise.resolve(),
  };
  const texts = new FileStore({ storage: stores.get('local')!, ledger }).passing('commands');
  const key = await texts.put('grüße');
  expect(reserved).toEqual([key]);
  expect(await texts.get(key)).toBe('grüße');
  expect(await texts.get(`${key}1`)).toBeUndefined();
});
