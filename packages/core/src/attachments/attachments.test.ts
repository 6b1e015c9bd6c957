import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  databaseWithQueue,
  queuedJobs,
  nextInstant,
} from '@acp/testkit';
import { eq } from 'drizzle-orm';
import {
  cleanContentType,
  cleanFilename,
  createAttachments,
  createIssueWithAttachments,
  findAttachment,
  listAttachments,
  reserveStorageKeys,
  type StoredFile,
  textKindOf,
} from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const issue = await createIssue(database.db, company);
  const agent = await createAgent(database.db, company);
  const human = actors.user(await createUser(database.db), { [company.id]: 'member' });
  const file = async (filename = 'a.txt'): Promise<StoredFile> => {
    const storage_key = `attachments/${company.id}/${newId()}`;
    await reserveStorageKeys(database.db, [storage_key]);
    return { filename, content_type: 'application/octet-stream', size_bytes: 1, sha256: '', storage_key };
  };
  const attach = async (...files: StoredFile[]) =>
    transaction(database, (tx) => createAttachments(tx, human, issue, files));
  return { company, issue, agent, human, file, attach };
}

describe('createAttachments', () => {
  it('of many files takes as many statements as of one', async () => {
    const s = await stage();
    const files = [await s.file(), await s.file('b.pdf'), await s.file('c.png')];
    const count = async (...some: StoredFile[]) => {
      const before = database.statements();
      await s.attach(...some);
      return database.statements() - before;
    };
    const one = await count(await s.file());
    expect(await count(...files)).toBe(one);
  });

  it('asks for the texts of those that have one', async () => {
    const s = await stage();
    const [text, picture] = await s.attach(await s.file('a.md'), await s.file('b.png'));
    expect(await queuedJobs(database.db, 'extract-text', { attachment_id: text!.id })).toHaveLength(1);
    expect(await queuedJobs(database.db, 'extract-text', { attachment_id: picture!.id })).toHaveLength(0);
  });

  it('by an agent without files.write, also with a new issue: forbidden, and there is no issue', async () => {
    const s = await stage();
    const bound = actors.agent(s.agent, { permissions: { 'files.write': false } });
    const file = await s.file();
    await expect(
      transaction(database, (tx) => createAttachments(tx, bound, s.issue, [file])),
    ).rejects.toMatchObject({ kind: 'forbidden' });
    const create = transaction(database, (tx) =>
      createIssueWithAttachments(tx, bound, s.company.id, { title: 'New' }, [file]),
    );
    await expect(create).rejects.toMatchObject({ kind: 'forbidden' });
    const rows = await database.db
      .select()
      .from(schema.issues)
      .where(eq(schema.issues.company_id, s.company.id));
    expect(rows).toHaveLength(1);
  });

  it('of a key that was never reserved, or is used already: refused', async () => {
    const s = await stage();
    const file = await s.file();
    await s.attach(file);
    await expect(s.attach(file)).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('findAttachment', () => {
  it('finds none where issue or company lies in the trash', async () => {
    const [a, b] = [await stage(), await stage()];
    const [[one], [two]] = [await a.attach(await a.file()), await b.attach(await b.file())];
    expect(await findAttachment(database.db, one!.id)).toMatchObject({ id: one!.id });
    const gone = { deleted_at: new Date() };
    await database.db.update(schema.issues).set(gone).where(eq(schema.issues.id, a.issue.id));
    await database.db.update(schema.companies).set(gone).where(eq(schema.companies.id, b.company.id));
    for (const id of [one!.id, two!.id, newId(), 'nonsense'])
      expect(await findAttachment(database.db, id)).toBeUndefined();
  });

  it('lists newest first, paged where a limit is given', async () => {
    const s = await stage();
    for (const name of ['1', '2', '3']) {
      await s.attach(await s.file(name));
      await nextInstant();
    }
    const first = await listAttachments(database.db, s.issue, { limit: 2 });
    expect(first.items.map((each) => each.filename)).toEqual(['3', '2']);
    const rest = await listAttachments(database.db, s.issue, { limit: 2, cursor: first.next_cursor! });
    expect(rest).toMatchObject({ items: [{ filename: '1' }], next_cursor: null });
  });
});

describe('what a client says of a file', () => {
  it.each([
    ['report.pdf', 'report.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\x\\y.txt', 'y.txt'],
    ['', 'file'],
    ['..', 'file'],
    ['a/', 'file'],
    ['a\0b\nc', 'abc'],
    ['x\u202Egnp.exe', 'xgnp.exe'],
    ['\ud800', '\ufffd'],
  ])('the name %j becomes %j', (name, clean) => {
    expect(cleanFilename(name)).toBe(clean);
  });

  it('a long name keeps its extension', () => {
    const name = cleanFilename(`${'ä'.repeat(300)}.docx`);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
    expect(name).toMatch(/^ä+\.docx$/);
  });

  it.each([
    ['Text/HTML; charset=x', 'text/html'],
    ['nonsense', 'application/octet-stream'],
    ['text/html\r\nX: y', 'application/octet-stream'],
    ['', 'application/octet-stream'],
  ])('the type %j becomes %j', (type, clean) => {
    expect(cleanContentType(type)).toBe(clean);
  });

  it.each([
    ['a.MD', 'application/octet-stream', 'plain'],
    ['a', 'text/csv', 'plain'],
    ['a', 'application/pdf', 'pdf'],
    ['a.pptx', '', 'pptx'],
    ['a.constructor', 'image/png', null],
    ['photo.png', 'image/png', null],
  ])('%s of type %j has a text of kind %j', (name, type, kind) => {
    expect(textKindOf(name, type)).toBe(kind);
  });
});
