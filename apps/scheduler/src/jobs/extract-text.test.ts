import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createAttachments,
  filesOfIssue,
  type PromptAttachment,
  promptAttachments,
  findIssue,
  reserveStorageKeys,
} from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { type ByteRange, LocalStorage } from '@acp/storage';
import { openQueue } from '@acp/queue';
import { actors, cloneDatabase, createCompany, createIssue } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SchedulerContext } from '../context.ts';
import { extractTextJob } from './extract-text.ts';

let folder: string;
let storage: LocalStorage;
let database: Database;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acp-texts-'));
  storage = new LocalStorage(folder);
  // The job takes whichever text is next, so other tests' files must not be in the same database.
  ({ database } = await cloneDatabase('extract_text'));
  await (await openQueue({ database, role: 'client' })).stop();
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

async function attach(filename: string, content: string) {
  const company = await createCompany(database.db);
  const issue = (await findIssue(database.db, (await createIssue(database.db, company)).id))!;
  const storage_key = `attachments/${company.id}/${newId()}`;
  await reserveStorageKeys(database.db, [storage_key]);
  const body = new Blob([content]).stream() as AsyncIterable<Uint8Array>;
  const stored = await storage.put(storage_key, body, { max_bytes: 10_000_000 });
  const file = { filename, content_type: 'application/octet-stream', storage_key, ...stored };
  const [made] = await transaction(database, (tx) => createAttachments(tx, actors.system, issue, [file]));
  return { issue, id: made!.id, storage_key };
}

const run = async (attachment_id: string) => {
  const context = { database, storage, config: { home: folder } } as unknown as SchedulerContext;
  const job = {
    signal: new AbortController().signal,
    job_id: newId(),
    attempt: 1,
    completeIn: () => undefined,
  };
  await extractTextJob(context)({ attachment_id }, job);
};

const textOf = async (id: string) => {
  const [row] = await database.db
    .select()
    .from(schema.attachment_texts)
    .where(eq(schema.attachment_texts.attachment_id, id));
  return row;
};

describe('extract-text', () => {
  it('stores the text, which prompts then find; a second run changes nothing', async () => {
    const { id, issue, storage_key } = await attach('plan.md', '# Plan');
    await run(id);
    expect(await textOf(id)).toMatchObject({ status: 'done', extracted_text: '# Plan', error: null });
    await storage.delete(storage_key);
    await run(id);
    const { rows } = await database.db.execute<{ files: PromptAttachment[] }>(
      sql`select ${promptAttachments(filesOfIssue(sql`${issue.id}::uuid`))} as files`,
    );
    expect(rows[0]!.files).toMatchObject([
      { id, filename: 'plan.md', text: '# Plan', text_status: 'done', text_length: 6 },
    ]);
  });

  it('a file that can’t be read, or is missing: failed with the reason, and done', async () => {
    const broken = await attach('broken.pdf', 'no pdf');
    await run(broken.id);
    expect(await textOf(broken.id)).toMatchObject({ status: 'failed', error: expect.stringMatching(/\w/) });
    const missing = await attach('a.txt', 'x');
    await storage.delete(missing.storage_key);
    await run(missing.id);
    expect(await textOf(missing.id)).toMatchObject({ status: 'failed', error: 'the file is missing' });
  });

  it('nothing to extract, or deleted meanwhile: done', async () => {
    const picture = await attach('photo.png', 'x');
    await run(picture.id);
    expect(await textOf(picture.id)).toMatchObject({ status: 'none' });
    await expect(run(newId())).resolves.toBeUndefined();
  });

  it('of a large plain text its beginning is fetched, and no more', async () => {
    const { id } = await attach('large.log', 'ö'.repeat(2_000_000));
    const ranges: unknown[] = [];
    const get = storage.get.bind(storage);
    storage.get = async (key: string, range?: ByteRange) => {
      ranges.push(range);
      return get(key, range);
    };
    await run(id);
    storage.get = get;
    expect(ranges).toEqual([{ start: 0, end: 1_999_999 }]);
    const row = await textOf(id);
    expect([row?.status, row?.extracted_text === 'ö'.repeat(500_000)]).toEqual(['done', true]);
  });

  it('a store that is away: the text waits again, and the job is repeated', async () => {
    const { id } = await attach('a.txt', 'later');
    const get = storage.get.bind(storage);
    storage.get = async () => Promise.reject(new Error('away'));
    await expect(run(id)).rejects.toThrow('away');
    expect(await textOf(id)).toMatchObject({ status: 'pending' });
    storage.get = get;
    await run(id);
    expect(await textOf(id)).toMatchObject({ status: 'done', extracted_text: 'later' });
  });
});
