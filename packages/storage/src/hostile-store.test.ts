/** A store that is never silent and never done: callers learn of it, and nothing grows meanwhile. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { drippingAnswers, hostileAnswers, type HostileServer, startHostileServer } from '@acp/testkit';
import type { ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { FileStore } from './file-store.ts';
import { S3Storage } from './s3.ts';

const away = { kind: 'unavailable', message: 'storage unavailable' };

let server: HostileServer;
let store: S3Storage;

beforeAll(async () => {
  server = await startHostileServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.asked.length = 0;
  store = storeWith(60_000);
});
afterEach(() => store.close());

const storeWith = (timeout_ms: number): S3Storage =>
  new S3Storage({
    bucket: 'files',
    region: 'us-east-1',
    endpoint: server.url,
    access_key_id: 'key',
    secret_access_key: 'secret',
    force_path_style: true,
    prefix: '',
    timeout_ms,
  });

async function listed(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list('a/')) keys.push(key);
  return keys;
}

const listing = (xml: string): string => `<?xml version="1.0"?><ListBucketResult>${xml}</ListBucketResult>`;
const content = (key: string): string => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`;

/** @param next the token of the next page @param keys on each page */
const pages = (next: (page: number) => string, keys: readonly string[]) =>
  server.answer((response) => {
    const contents = keys.map(content).join('');
    const token = `<NextContinuationToken>${next(server.asked.length)}</NextContinuationToken>`;
    response.end(listing(`${contents}${token}<IsTruncated>true</IsTruncated>`));
  });

it.each([
  ['names the same page again', () => 'again', 2],
  ['names three pages in turn', (page: number) => `page ${page % 3}`, 4],
])('a list that %s ends there', async (_what, next, asked) => {
  pages(next, ['a/b']);
  await expect(listed()).rejects.toMatchObject(away);
  expect(server.asked).toHaveLength(asked);
});

it('a list of ever more pages without objects ends', async () => {
  pages((page) => `page ${page}`, []);
  await expect(listed()).rejects.toMatchObject(away);
  expect(server.asked).toHaveLength(100);
});

it.each<[string, number, string]>([
  [
    'of which more was promised, and not where',
    200,
    listing(`${content('a/b')}<IsTruncated>true</IsTruncated>`),
  ],
  ['that does not say whether there is more', 200, listing(content('a/b'))],
  ['in the place of which stands a page', 200, '<html><body>Welcome</body></html>'],
  ['that is not found', 404, ''],
  ['in the place of which stands a missing key', 404, '<Error><Code>NoSuchKey</Code></Error>'],
])('a list %s is no list of a few objects: a backup would lack the others', async (_what, status, xml) => {
  server.answer((response) => void response.writeHead(status).end(xml));
  await expect(listed()).rejects.toMatchObject(away);
});

it('keys that are not below the folder, or could not be ours, are not listed', async () => {
  const keys = ['a/b', 'a/', 'a/../b', 'b/c', 'b', 'a/c/d', 'a'];
  const contents = keys.map(content).join('');
  server.answer((response) => void response.end(listing(`${contents}<IsTruncated>false</IsTruncated>`)));
  expect(await listed()).toEqual(['a/b', 'a/c/d']);
});

it('an answer that is no object is read up to 8 MB, whatever it claims to be', async () => {
  server.answer(hostileAnswers['a body without end']);
  await expect(listed()).rejects.toMatchObject(away);
  await expect(store.delete('a/b')).rejects.toMatchObject(away);
  await expect(store.deleteAll(['a/b'])).resolves.toMatchObject({ gone: [], failure: away });
  server.answer((response) => {
    response.writeHead(403);
    const write = (): boolean | void => response.destroyed || response.write(Buffer.alloc(65_536), write);
    write();
  });
  await expect(store.get('a/b')).rejects.toMatchObject(away);
});

it.each([
  ['of no length', undefined, (response: ServerResponse) => response.writeHead(200).write('x'.repeat(99))],
  [
    'whole where a part was asked for',
    { start: 1, end: 2 },
    (response: ServerResponse) => response.end('whole'),
  ],
  [
    'in the place of which stands an error',
    undefined,
    (response: ServerResponse) => response.writeHead(200).write('<Error/>'),
  ],
])('an object %s is not read', async (_what, range, answer) => {
  server.answer((response) => void answer(response));
  await expect(store.get('a/b', range)).rejects.toMatchObject(away);
});

it('a text that is handed over is read up to 64 MB, though the store says it is longer and has it all', async () => {
  const ledger = { reserve: async () => undefined, claim: async () => [], forget: async () => undefined };
  const texts = new FileStore({ storage: store, ledger }).passing('commands');
  let sent = 0;
  server.answer((response) => {
    response.writeHead(200, { 'content-length': 10 * 1024 ** 3 });
    const write = (): boolean | void => {
      if (!response.destroyed) response.write(Buffer.alloc(1024 ** 2, 'x'), write);
      sent += 1;
    };
    write();
  });
  await expect(texts.get('commands/passing/a')).rejects.toMatchObject({ kind: 'too_large' });
  expect(sent).toBeLessThan(200);
});

it('a list in XML of entities within entities, or nested without end, is refused', async () => {
  const entities = Array.from({ length: 30 }, (_, n) => `<!ENTITY e${n + 1} "${`&e${n};`.repeat(10)}">`);
  const bomb = `<!DOCTYPE x [<!ENTITY e0 "boom">${entities.join('')}]><ListBucketResult><Name>&e30;</Name></ListBucketResult>`;
  for (const xml of [bomb, '<a>'.repeat(100_000) + '</a>'.repeat(100_000)]) {
    server.answer((response) => void response.end(xml));
    const keys = await listed().catch(({ kind }: { kind?: string }) => kind);
    expect([[], 'unavailable']).toContainEqual(keys);
  }
});

it.each(Object.entries(drippingAnswers))('a store that drips %s is given up', async (_what, answer) => {
  server.answer(answer);
  store.close();
  store = storeWith(300);
  const bytes = async function* () {
    yield await Promise.resolve(Buffer.from('bytes'));
  };
  await expect(listed()).rejects.toMatchObject(away);
  await expect(store.put('a/b', bytes(), { max_bytes: 100 })).rejects.toMatchObject(away);
  const read = async () => buffer((await store.get('a/b'))!);
  await expect(read()).rejects.toMatchObject(away);
});
