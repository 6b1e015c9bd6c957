import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { openQueue } from '@acp/queue';
import { actors, cloneDatabase, createCompany, createIssue, queuedJobs } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import {
  claimText,
  createAttachments,
  findIssue,
  releaseText,
  reserveStorageKeys,
  storeAttachmentText,
  sweepPendingTexts,
  filesOfIssue,
  textsAwaited,
} from '../index.ts';

const { attachment_texts } = schema;

let database: Database;
beforeAll(async () => {
  // Claims look at all companies, so other tests' files must not interfere.
  ({ database } = await cloneDatabase('texts'));
  await (await openQueue({ database, role: 'client' })).stop();
});
beforeEach(async () => {
  await database.db.delete(attachment_texts);
});

async function company(files: number) {
  const { id } = await createCompany(database.db);
  const issue = (await findIssue(database.db, (await createIssue(database.db, { id })).id))!;
  const keys = Array.from({ length: files }, () => `attachments/${id}/${newId()}`);
  await reserveStorageKeys(database.db, keys);
  const stored = keys.map((storage_key, index) => ({
    filename: `${index}.txt`,
    content_type: 'text/plain',
    size_bytes: 5_000_000_000,
    sha256: '',
    storage_key,
  }));
  const made = await transaction(database, (tx) => createAttachments(tx, actors.system, issue, stored));
  return { id, issue, files: made.map((each) => each.id) };
}

const claim = async (after: string | null = null) => claimText(database.db, after);
const done = async (id: string) =>
  storeAttachmentText(database.db, id, { status: 'done', extracted_text: 'x' });
const rowOf = async (id: string) =>
  (await database.db.select().from(attachment_texts).where(eq(attachment_texts.attachment_id, id)))[0]!;
const age = async (id: string) =>
  database.db
    .update(attachment_texts)
    .set({ updated_at: sql`now() - interval '11 minutes'` })
    .where(eq(attachment_texts.attachment_id, id));
const sweep = async () => transaction(database, async (tx) => sweepPendingTexts(tx));

describe('a claim of a text', () => {
  it('goes to the companies in turn, however much one of them has waiting', async () => {
    const [large, b, c] = [await company(6), await company(1), await company(1)];
    const order: string[] = [];
    while (order.length < 8) {
      const text = await claim(order.at(-1) ?? null);
      await done(text!.attachment_id);
      order.push(text!.company_id);
    }
    expect(new Set(order.slice(0, 3))).toEqual(new Set([large.id, b.id, c.id]));
    expect(order.slice(3)).toEqual(Array(5).fill(large.id));
    expect(await claim(large.id)).toBeUndefined();
  });

  it('passes over a company whose file takes long, while others wait', async () => {
    const [slow, other] = [await company(3), await company(3)];
    const first = (await claim())!;
    const busy = [slow, other].find(({ id }) => id === first.company_id)!;
    const idle = busy === slow ? other : slow;
    for (let turn = 0; turn < 3; turn += 1) {
      const next = (await claim(idle.id))!;
      expect(next.company_id).toBe(idle.id);
      await done(next.attachment_id);
    }
    expect(await claim(idle.id)).toMatchObject({ company_id: busy.id });
  });

  it('is made by one only, and counts as being on its way', async () => {
    const { issue, files } = await company(4);
    const claimed = await Promise.all(files.map(async () => claim()));
    // A claim that ran into others' locks is repeated for the rest.
    const ids = claimed.flatMap((each) => each?.attachment_id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    for (let left = await claim(); left !== undefined; left = await claim()) ids.push(left.attachment_id);
    expect(ids.toSorted()).toEqual(files.toSorted());
    expect(claimed.find((each) => each)).toMatchObject({ kind: 'plain', size_bytes: 5_000_000_000 });
    const { rows } = await database.db.execute(
      sql`select ${textsAwaited(filesOfIssue(sql`${issue.id}::uuid`))} as awaited`,
    );
    expect(rows).toEqual([{ awaited: true }]);
  });

  it('given up, waits behind the others of its company', async () => {
    const { files } = await company(2);
    const first = (await claim())!;
    await releaseText(database.db, first.attachment_id);
    const other = files.find((id) => id !== first.attachment_id);
    expect([(await claim())!.attachment_id, (await claim())!.attachment_id]).toEqual([
      other,
      first.attachment_id,
    ]);
  });
});

describe('the sweep of texts', () => {
  const jobs = async (id: string) =>
    (await queuedJobs(database.db, 'extract-text', { attachment_id: id })).length;

  it('asks again for what is pending for long, once in a while, also of the release before', async () => {
    const { id, files } = await company(1);
    await sweep();
    expect(await jobs(files[0]!)).toBe(1);
    await age(files[0]!);
    await database.db.update(attachment_texts).set({ company_id: null });
    expect(await claim()).toBeUndefined();
    await sweep();
    await sweep();
    expect(await jobs(files[0]!)).toBe(2);
    expect(await claim()).toMatchObject({ company_id: id });
  });

  it('takes back what a scheduler was reading when it ended, and gives it up the third time', async () => {
    const { files } = await company(1);
    for (const after of ['pending', 'pending', 'failed']) {
      expect(await claim()).toMatchObject({ attachment_id: files[0] });
      await sweep();
      expect(await rowOf(files[0]!)).toMatchObject({ status: 'reading' });
      await age(files[0]!);
      await sweep();
      expect(await rowOf(files[0]!)).toMatchObject({ status: after });
    }
    expect(await rowOf(files[0]!)).toMatchObject({ error: expect.stringContaining('broken off') });
    expect(await jobs(files[0]!)).toBe(3);
  });

  it('a result that comes after all changes nothing', async () => {
    const { files } = await company(1);
    await claim();
    await storeAttachmentText(database.db, files[0]!, { status: 'none' });
    await done(files[0]!);
    await releaseText(database.db, files[0]!);
    expect(await rowOf(files[0]!)).toMatchObject({ status: 'none', extracted_text: null });
  });
});
