/** Multipart bodies that no client would send, and the same routes with a real S3 server on loopback. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createIssue, systemActor } from '@acp/core';
import { schema, transaction } from '@acp/db';
import type { Database } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { openStorage } from '@acp/storage';
import type { Storage } from '@acp/storage';
import { databaseWithQueue, startS3Server } from '@acp/testkit';
import type { S3Server } from '@acp/testkit';
import { inArray } from 'drizzle-orm';
import type { Express } from 'express';
import * as fc from 'fast-check';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { createServices } from '../../apps/web/src/http/services.ts';
import { character } from './arbitraries.ts';
import { createCast } from './cast.ts';
import type { Cast } from './cast.ts';

let server: S3Server;
let storage: Storage;
let database: Database;
let app: Express;
let cast: Cast;
let path: string;

beforeAll(async () => {
  server = await startS3Server();
  database = await databaseWithQueue();
  const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_MAX_UPLOAD_SIZE: '12MB', ...server.environment });
  storage = await openStorage(config);
  const logger = createLogger({ level: 'error', format: 'pretty', role: 'test' });
  const services = createServices({ database, config, storage, logger });
  app = createApp({ database, logger, config, services, validate_responses: true });
  cast = await createCast(database);
  const { id } = await transaction(database, (tx) =>
    createIssue(tx, systemActor('tests'), cast.company_id, { title: 'With files' }),
  );
  path = `/api/issues/${id}/attachments`;
});

afterAll(async () => {
  storage.close();
  await server.close();
});

async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of storage.list('')) found.push(key);
  return found;
}

describe('over S3', () => {
  it('a file of several parts goes in, comes out in ranges, and is deleted', async () => {
    const content = Buffer.alloc(11_000_000, 'abcdefghij');
    const sent = request(app).post(path).set(cast.member.headers).attach('file', content, 'large.bin');
    const { body } = await sent.expect(201);
    expect(await keys()).toEqual([body.storage_key]);
    const download = request(app).get(`/api/attachments/${body.id}/download`).set(cast.viewer.headers);
    const part = await download.set('Range', 'bytes=10999995-').buffer(true).expect(206);
    expect(String(part.body)).toBe('fghij');
    await request(app).delete(`/api/attachments/${body.id}`).set(cast.member.headers).expect(204);
    expect(await keys()).toEqual([]);
  });

  it('a file that turns out too large: 413, and the store holds nothing of it', async () => {
    const sent = request(app).post(path).set(cast.member.headers);
    await sent.attach('file', Buffer.alloc(12_000_001), 'x').expect(413);
    expect(await keys()).toEqual([]);
  });
});

const BOUNDARY = 'b';
const piece = fc.oneof(
  fc.constantFrom(
    `--${BOUNDARY}\r\n`,
    `--${BOUNDARY}--\r\n`,
    `--${BOUNDARY}`,
    '\r\n\r\n',
    '\r\n',
    'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n',
    'Content-Disposition: form-data; name="file"; filename=""\r\n',
    "Content-Disposition: form-data; name=file; filename*=UTF-8''%ff%00\r\n",
    'Content-Disposition: form-data; name="title"\r\n',
    'Content-Disposition: form-data; name="a[b][0]"\r\n',
    'Content-Disposition: form-data; name="__proto__"\r\n',
    'Content-Disposition: form-data\r\n',
    'Content-Type: text/html; charset=klingon\r\n',
    'Content-Transfer-Encoding: base64\r\n',
  ),
  fc.string({ unit: character, maxLength: 30 }),
);

describe('malformed bodies', () => {
  it('anybody sends anything: no 5xx, errors say what is wrong, and what is stored has its row', async () => {
    const targets = [
      path,
      `/api/companies/${cast.company_id}/issues`,
      `/api/companies/${cast.company_id}/logo`,
    ];
    const type = fc.constantFrom(
      `multipart/form-data; boundary=${BOUNDARY}`,
      'multipart/form-data',
      'multipart/mixed; boundary=b',
      'multipart/form-data; boundary=',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...targets),
        type,
        fc.array(piece, { maxLength: 12 }),
        async (to, contentType, pieces) => {
          const sent = request(app).post(to).set(cast.admin.headers).set('Content-Type', contentType);
          const { status, body } = await sent.send(Buffer.from(pieces.join('')));
          expect({ status, fine: status < 500 }).toEqual({ status, fine: true });
          const error: unknown = status >= 400 ? body : { error: '' };
          expect(error).toEqual({ error: expect.any(String) });
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 150) },
    );
    const stored = await keys();
    const rows = stored.length
      ? await database.db
          .select({ key: schema.attachments.storage_key })
          .from(schema.attachments)
          .where(inArray(schema.attachments.storage_key, stored))
      : [];
    expect(rows.map(({ key }) => key).toSorted()).toEqual(stored.toSorted());
  });
});
