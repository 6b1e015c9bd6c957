/** A store that falls silent at any point: callers learn of it after one limit, however many attempts the client would make. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { waitFor } from '@acp/testkit';
import { FileStore } from './index.ts';
import { S3Storage } from './s3.ts';

/** Where the store never says a word, and where it must get a word out first, however busy the machine is. */
const SILENT_MS = 300;
const ANSWERING_MS = 1000;
const PART = 5 * 1024 * 1024;
const away = { kind: 'unavailable', message: 'storage unavailable', retry_after_sec: 5 };

let server: Server;
let store: S3Storage;
/** What the store does with a request; those that it does not respond to are never read either. */
let respond: (request: IncomingMessage, response: ServerResponse) => void;
/** Every request that arrived. */
let journal: string[] = [];
/** The keys of those that delete. */
let removed: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    journal.push(`${request.method} ${request.url?.replace(/^.*\?/, '') ?? ''}`);
    const [, key] = /^\/files\/([^?]+)/.exec(request.url ?? '') ?? [];
    if (request.method === 'DELETE' && key !== undefined) removed.push(key);
    respond(request, response);
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  // The first request loads the client, which may take longer than the limits of the others.
  respond = (_, response) => void response.writeHead(404).end();
  store = storeWith(60_000);
  await store.size('a/b');
  store.close();
});

beforeEach(() => {
  [journal, removed] = [[], []];
  respond = () => undefined;
  store = storeWith(SILENT_MS);
});

function storeWith(timeout_ms: number): S3Storage {
  return new S3Storage({
    bucket: 'files',
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    access_key_id: 'key',
    secret_access_key: 'secret',
    force_path_style: true,
    prefix: '',
    timeout_ms,
  });
}

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function* parts(count: number): AsyncGenerator<Uint8Array> {
  for (let each = 0; each < count; each++) yield Promise.resolve(Buffer.alloc(PART));
}

const put = async (bytes: AsyncIterable<Uint8Array>) => store.put('a/b', bytes, { max_bytes: 1e9 });
const methods = () => journal.map((line) => line.split(' ')[0]);
const xml = (root: string, content: string) => `<?xml version="1.0"?><${root}>${content}</${root}>`;

it('accepts and never answers: each call fails, after a single attempt', async () => {
  await expect(store.get('a/b')).rejects.toMatchObject(away);
  await expect(store.size('a/b')).rejects.toMatchObject(away);
  await expect(store.delete('a/b')).rejects.toMatchObject(away);
  await expect(store.list('a/')[Symbol.asyncIterator]().next()).rejects.toMatchObject(away);
  await expect(store.removeLeftovers(new Date())).rejects.toMatchObject(away);
  await expect(put(parts(1))).rejects.toMatchObject(away);
  expect(methods()).toEqual(['GET', 'HEAD', 'DELETE', 'GET', 'GET', 'PUT']);
  store.close();
});

it('stops in the middle of an upload: the caller does not wait until its parts are removed', async () => {
  store = storeWith(ANSWERING_MS);
  respond = (request, response) => {
    if (request.url?.includes('uploads='))
      response.end(xml('InitiateMultipartUploadResult', '<UploadId>1</UploadId>'));
    else if (request.url?.includes('partNumber=1&'))
      request.resume().on('end', () => response.setHeader('ETag', '"1"').end());
  };
  await expect(put(parts(3))).rejects.toMatchObject(away);
  await waitFor(() => methods().includes('DELETE'));
  expect(methods()).toEqual(['POST', 'PUT', 'PUT', 'DELETE']);
  store.close();
});

it('stops after the headers, or in the middle of a body: reading it fails', async () => {
  store = storeWith(ANSWERING_MS);
  for (const bytes of [0, 400]) {
    respond = (_request, response) => {
      response.writeHead(200, { 'Content-Length': 1000 });
      if (bytes > 0) response.write(Buffer.alloc(bytes));
      else response.flushHeaders();
    };
    const body = await store.get('a/b');
    await expect(buffer(body!)).rejects.toMatchObject(away);
  }
  store.close();
});

it('a reader who leaves, before the body or in the middle of it, ends it with their own reason', async () => {
  store = storeWith(600_000);
  const left = new Error('the reader left');
  const leaving = new AbortController();
  respond = () => leaving.abort(left);
  await expect(store.get('a/b', undefined, leaving.signal)).rejects.toBe(left);
  respond = (_request, response) => void response.writeHead(200, { 'Content-Length': 10 }).write('12345');
  const body = (await store.get('a/b'))!;
  const closed = text(body);
  body.once('data', () => body.destroy(left));
  await expect(closed).rejects.toBe(left);
  store.close();
});

it('a body that waits for its reader, and an upload that waits for its sender, are not given up', async () => {
  store = storeWith(ANSWERING_MS);
  respond = (request, response) => {
    if (request.method === 'GET') response.end(Buffer.alloc(PART));
    else request.resume().on('end', () => response.setHeader('ETag', '"1"').end());
  };
  const pause = async () => {
    const begin = performance.now();
    await waitFor(() => performance.now() - begin > 1.5 * ANSWERING_MS);
  };
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('one');
    await pause();
    yield Buffer.from('two');
  }
  const body = await store.get('a/b');
  await pause();
  expect(await buffer(body!)).toHaveLength(PART);
  expect(await put(slow())).toMatchObject({ size_bytes: 6 });
  store.close();
});

it('a store that fails at once, and then answers, is asked again', async () => {
  store = storeWith(60_000);
  respond = (_request, response) => {
    response.statusCode = journal.length === 1 ? 503 : 200;
    response.end();
  };
  expect(await store.exists('a/b')).toBe(true);
  expect(methods()).toEqual(['HEAD', 'HEAD']);
  store.close();
});

it('what an upload leaves in a hung store is left to the sweep, with its key recorded', async () => {
  const forgotten: string[] = [];
  const ledger = {
    reserve: async () => Promise.resolve(),
    claim: async (keys: readonly string[]) => Promise.resolve([...keys]),
    forget: async (keys: readonly string[]) => Promise.resolve(void forgotten.push(...keys)),
  };
  await new FileStore({ storage: store, ledger }).discard(['a/b', 'a/c']);
  expect([methods(), forgotten]).toEqual([['POST'], []]);
  store.close();
});

it('a store that refuses to delete several objects at once is sent one request for each, from then on', async () => {
  store = storeWith(ANSWERING_MS);
  respond = (request, response) => {
    response.statusCode = request.method === 'POST' ? 501 : request.url?.includes('kept') ? 403 : 204;
    response.end();
  };
  const keys = ['a/b', 'a/kept', 'a/c'];
  for (const posts of [1, 0]) {
    journal = [];
    const { gone, failure } = await store.deleteAll(keys);
    expect([gone.toSorted(), failure]).toMatchObject([['a/b', 'a/c'], away]);
    expect(methods().filter((method) => method === 'POST')).toHaveLength(posts);
  }
  // Then it falls silent: a single limit for all of them.
  respond = () => undefined;
  const startedAt = performance.now();
  const many = Array.from({ length: 500 }, (_, n) => `a/${n}`);
  expect(await store.deleteAll(many)).toMatchObject({ gone: [], failure: away });
  expect(performance.now() - startedAt).toBeLessThan(3 * ANSWERING_MS);
  store.close();
});

it('of several objects, a store says which it could not delete', async () => {
  store = storeWith(ANSWERING_MS);
  const error = (key: string, code: string) => `<Error><Key>${key}</Key><Code>${code}</Code></Error>`;
  respond = (request, response) =>
    void request
      .resume()
      .on('end', () =>
        response.end(xml('DeleteResult', error('a/kept', 'AccessDenied') + error('a/gone', 'NoSuchKey'))),
      );
  expect(await store.deleteAll(['a/b', 'a/kept', 'a/gone'])).toMatchObject({
    gone: ['a/b', 'a/gone'],
    failure: away,
  });
  store.close();
});

it('keeps the parts of uploads that were broken off: those of files and backups are removed, others’ are not', async () => {
  store = storeWith(ANSWERING_MS);
  const id = 'a0000000-0000-4000-8000-000000000000';
  const own = [`attachments/${id}/${id}`, 'backups/20261129T030000Z-a0000000.backup'];
  const uploads = [...own, 'elsewhere/film.mp4', 'backups/of-a-neighbour.tar'].map(
    (key) =>
      `<Upload><Key>${key}</Key><UploadId>1</UploadId><Initiated>2026-01-01T00:00:00Z</Initiated></Upload>`,
  );
  respond = (request, response) => {
    if (request.method === 'GET') response.end(xml('ListMultipartUploadsResult', uploads.join('')));
    else response.writeHead(204).end();
  };
  await store.removeLeftovers(new Date('2026-06-01'));
  expect(removed).toEqual(own);
  store.close();
});

it('has more of others’ uploads than one list holds: those of files behind them are removed, too', async () => {
  store = storeWith(ANSWERING_MS);
  const id = 'a0000000-0000-4000-8000-000000000000';
  respond = (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://store');
    if (request.method !== 'GET') return void response.writeHead(204).end();
    const after = searchParams.get('key-marker');
    const key =
      after === 'a.mp4' && searchParams.get('upload-id-marker') === '1' ? `attachments/${id}/${id}` : 'a.mp4';
    const upload = `<Upload><Key>${key}</Key><UploadId>1</UploadId><Initiated>2026-01-01T00:00:00Z</Initiated></Upload>`;
    const more = `<IsTruncated>${after === null}</IsTruncated><NextKeyMarker>a.mp4</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>`;
    response.end(xml('ListMultipartUploadsResult', upload + more));
  };
  await store.removeLeftovers(new Date('2026-06-01'));
  expect(removed).toEqual([`attachments/${id}/${id}`]);
  // One that repeats itself.
  const forged = `<IsTruncated>true</IsTruncated><NextKeyMarker>b</NextKeyMarker>`;
  respond = (_, response) => void response.end(xml('ListMultipartUploadsResult', forged));
  await expect(store.removeLeftovers(new Date('2026-06-01'))).rejects.toMatchObject(away);
  store.close();
});
