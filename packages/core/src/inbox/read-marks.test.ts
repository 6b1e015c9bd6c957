import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import {
  actors,
  createCompany,
  createIntegration,
  createIssue,
  createUser,
  databaseWithQueue,
  nextInstant,
  pagesRead,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createComment } from '../comments/index.ts';
import {
  findIssue,
  markAllRead,
  markIssueRead,
  markIssueUnread,
  oldReadMarks,
  settleReads,
  snoozeIssue,
  unreadBy,
  updateIssue,
} from '../issues/index.ts';
import { putSetting } from '../settings/index.ts';
import { readInbox } from './index.ts';

const { issue_reads, read_marks } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

type Issue = Awaited<ReturnType<typeof createIssue>>;

async function setUp() {
  const company = await createCompany(database.db);
  const reader = actors.user(await createUser(database.db), { [company.id]: 'member' });
  const reader_id = (reader as { user_id: string }).user_id;
  const unread = async (limit = 100) =>
    (await unreadBy(database.db, reader, company.id, limit)).map(({ id }) => id);
  const run = async <T>(act: (tx: Tx) => Promise<T>) => transaction(database, act);
  const say = async (tx: Tx, { id }: Issue, actor: Actor = actors.board(company)) =>
    createComment(tx, actor, (await findIssue(tx, id))!, { body_markdown: 'Hm' });
  return {
    company,
    reader,
    reader_id,
    unread,
    run,
    say,
    readAll: async () => run(async (tx) => markAllRead(tx, reader, company.id)),
    settle: async () => run(async (tx) => settleReads(tx, reader_id, company.id)),
    rows: async () => database.db.select().from(issue_reads).where(eq(issue_reads.reader_id, reader_id)),
    /** Lets ten seconds pass: everything that was, was ten seconds earlier. */
    age: async () =>
      run(async (tx) => {
        const by = sql`interval '10 seconds'`;
        for (const [table, column] of [
          ['issues', 'updated_at'],
          ['comments', 'created_at'],
          ['activity', 'created_at'],
          ['read_marks', 'read_to'],
        ] as const)
          await tx.execute(sql`update ${sql.identifier(table)}
            set ${sql.identifier(column)} = ${sql.identifier(column)} - ${by} where company_id = ${company.id}`);
        await tx.execute(sql`update issue_reads set snoozed_until = snoozed_until - ${by},
          read_at = case when read_at > 'epoch' then read_at - ${by} else read_at end where reader_id = ${reader_id}`);
      }),
  };
}

async function fill(company: { id: string }, count: number): Promise<void> {
  await database.db.execute(sql`
    insert into issues (company_id, title, identifier, issue_number, updated_at)
    select ${company.id}, 'Old ' || n, 'OLD-' || n, 100000 + n, now() - interval '1 day' - make_interval(secs => n)
    from generate_series(1, ${count}) n`);
  await database.db.execute(sql`analyze issues`);
}

describe('the mark of a reader', () => {
  it('makes an inbox as cheap in a company of many issues as in one of few, and takes no row for each', async () => {
    const { company, reader, unread, run, say, readAll, rows, settle, age } = await setUp();
    await fill(company, 20_000);
    const [old, changed] = [await createIssue(database.db, company), await createIssue(database.db, company)];
    await age();
    await readAll();
    expect([await unread(), await rows()]).toEqual([[], []]);
    await run(async (tx) => say(tx, old));
    await nextInstant();
    await run(async (tx) => updateIssue(tx, actors.board(company), changed, { title: 'Now' }));
    const pages = async () => pagesRead(database, async (db) => unreadBy(db, reader, company.id, 100));
    expect(await pages()).toBeLessThan(150);
    expect(await unread()).toEqual([changed.id, old.id]);
    await settle();
    expect(await unread()).toEqual([changed.id, old.id]);
    const marking = async () => pagesRead(database, async (db) => markAllRead(db, reader, company.id));
    expect(await marking()).toBeLessThan(150);
    expect(await unread()).toEqual([]);
    expect(await pages()).toBeLessThan(50);
  });

  it('reads a page of an inbox in which everything is unread, and no more', async () => {
    const { company, reader, unread, readAll } = await setUp();
    await readAll();
    await fill(company, 5000);
    await database.db.execute(sql`update issues set updated_at = now() where company_id = ${company.id}`);
    expect(await unread(10)).toHaveLength(10);
    const pages = await pagesRead(database, async (db) => unreadBy(db, reader, company.id, 10));
    expect(pages).toBeLessThan(200);
  });

  describe('set while something is being written', () => {
    it.each(['before', 'after'] as const)(
      'does not cover a comment committed later, whose transaction first wrote %s it was set',
      async (order) => {
        const { company, unread, run, say, readAll, age, rows } = await setUp();
        const issue = await createIssue(database.db, company);
        await age();
        await run(async (tx) => {
          if (order === 'before') await say(tx, issue);
          else await tx.execute(sql`select now()`);
          await nextInstant();
          await readAll();
          expect(await unread()).toEqual([]);
          if (order === 'after') await say(tx, issue);
        });
        expect(await unread()).toEqual([issue.id]);
        await readAll();
        expect([await unread(), await rows()]).toEqual([[], [expect.anything()]]);
      },
    );

    it('does not cover a change committed later, nor does a row of the issue or a snooze', async () => {
      const { company, reader, unread, run, say, readAll, age } = await setUp();
      const acts = {
        all: async () => readAll(),
        one: async (issue: Issue) => run(async (tx) => markIssueRead(tx, reader, issue)),
        snooze: async (issue: Issue) => run(async (tx) => snoozeIssue(tx, reader, issue, 60)),
      };
      const found: Record<string, boolean[]> = {};
      for (const [name, act] of Object.entries(acts)) {
        const issues = [await createIssue(database.db, company), await createIssue(database.db, company)];
        await age();
        await run(async (tx) => {
          await tx.execute(sql`select now()`);
          await nextInstant();
          for (const issue of issues) await act(issue);
          await say(tx, issues[0]!);
          await updateIssue(tx, actors.board(company), issues[1]!, { title: 'Now' });
        });
        const now = await unread();
        found[name] = issues.map(({ id }) => now.includes(id));
      }
      expect(found).toEqual({ all: [true, true], one: [true, true], snooze: [true, true] });
    });
  });

  it('finds comments by the activity, and without it where that is no longer kept', async () => {
    const { company, unread, run, say, readAll, age } = await setUp();
    const issue = await createIssue(database.db, company);
    await age();
    await readAll();
    await age();
    await run(async (tx) => say(tx, issue));
    expect(await unread()).toEqual([issue.id]);
    const past = sql`now() - interval '100 days'`;
    await database.db.execute(sql`delete from activity where company_id = ${company.id}`);
    await database.db.execute(sql`update read_marks set read_to = ${past} where company_id = ${company.id}`);
    await database.db.execute(
      sql`update issues set updated_at = ${past} - interval '1 day' where id = ${issue.id}`,
    );
    expect(await unread()).toEqual([]);
    await putSetting(database.db, 'activity_retention_days', 90);
    expect(await unread()).toEqual([issue.id]);
    await database.db.execute(sql`delete from instance_settings where key = 'activity_retention_days'`);
  });

  it('is moved to the present unless most is unread; a day later the rows that it covers go', async () => {
    const { company, reader, reader_id, unread, run, settle, age, rows } = await setUp();
    const issues = [];
    for (let n = 0; n < 4; n += 1) issues.push(await createIssue(database.db, company));
    const [put_off, ...others] = issues;
    for (const issue of others) await run(async (tx) => markIssueRead(tx, reader, issue));
    await run(async (tx) => snoozeIssue(tx, reader, put_off!, 60));
    const late = await createIssue(database.db, company);
    await age();
    const due = async () => (await oldReadMarks(database.db)).some((mark) => mark.reader_id === reader_id);
    expect(await due()).toBe(true);
    expect([await settle(), await due()]).toEqual([true, false]);
    expect([await unread(), (await rows()).length]).toEqual([[late.id], 5]);
    expect([await settle(), await unread(), (await rows()).length]).toEqual([true, [late.id], 2]);
    expect((await readInbox(database.db, reader, company.id)).snoozed_issues).toMatchObject([
      { id: put_off!.id },
    ]);
    await fill(company, 600);
    await database.db.update(read_marks).set({ read_to: null }).where(eq(read_marks.reader_id, reader_id));
    expect([await settle(), await due()]).toEqual([false, true]);
  });
});

it('is given to the readers of before, who until then have rows alone', async () => {
  const { company, reader, reader_id, unread, run } = await setUp();
  const issues = [await createIssue(database.db, company), await createIssue(database.db, company)];
  await run(async (tx) => markIssueRead(tx, reader, issues[0]!));
  const ours = eq(read_marks.reader_id, reader_id);
  await database.db.delete(read_marks).where(ours);
  expect(await unread()).toEqual([issues[1]!.id]);
  const migration = path.resolve(import.meta.dirname, '../../../../drizzle/0094_readers_of_issues.sql');
  await database.pool.query(readFileSync(migration, 'utf8'));
  expect(await database.db.select().from(read_marks).where(ours)).toEqual([
    { reader_id, company_id: company.id, read_to: null },
  ]);
  expect(await oldReadMarks(database.db)).toContainEqual({ reader_id, company_id: company.id });
});

it('a key’s own comment is not unread to it, and another’s is', async () => {
  const { company, run, say } = await setUp();
  const [key, other] = [
    await createIntegration(database.db, company),
    await createIntegration(database.db, company),
  ];
  const issue = await createIssue(database.db, company);
  await nextInstant();
  await run(async (tx) => markAllRead(tx, key, company.id));
  const unread = async () => (await unreadBy(database.db, key, company.id, 10)).map(({ id }) => id);
  await run(async (tx) => say(tx, issue, key));
  expect(await unread()).toEqual([]);
  await nextInstant();
  await run(async (tx) => say(tx, issue, other));
  expect(await unread()).toEqual([issue.id]);
});

it('a change is unread though its transaction began before one that was read', async () => {
  const { reader, company, unread, run } = await setUp();
  const issue = await createIssue(database.db, company);
  const change = async (tx: Tx, title: string) =>
    updateIssue(tx, actors.board(company), (await findIssue(tx, issue.id))!, { title });
  await run(async (slow) => {
    await slow.execute(sql`select now()`);
    await nextInstant();
    await run(async (tx) => change(tx, 'second'));
    await run(async (tx) => markIssueRead(tx, reader, issue));
    expect(await unread()).toEqual([]);
    await change(slow, 'first');
  });
  expect(await unread()).toEqual([issue.id]);
});

describe('marks and rows together', () => {
  /** What the inbox shows, by the words of its documentation alone. */
  interface Expected {
    happened: number;
    read: number;
    /** When the snooze ended or will. */
    until: number | null;
  }
  const isUnread = ({ happened, read, until }: Expected, now: number): boolean =>
    read < happened || (until !== null && until <= now && read < until);

  it.each([1, 2])('show what was read, unread or put off, in any order of acts (seed %i)', async (seed) => {
    const { company, reader, reader_id, unread, run, say, readAll, settle, age } = await setUp();
    const issues: Issue[] = [];
    for (let n = 0; n < 4; n += 1) issues.push(await createIssue(database.db, company));
    const expected = new Map<string, Expected>(
      issues.map(({ id }) => [id, { happened: 1, read: 0, until: null }]),
    );
    let [now, state] = [1, seed];
    const random = (below: number): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state % below;
    };
    const row = (issue: Issue) => sql`reader_id = ${reader_id} and issue_id = ${issue.id}`;
    const acts: Record<string, (issue: Issue, item: Expected) => Promise<unknown>> = {
      change: async (issue, item) => {
        item.happened = now;
        return run(async (tx) => updateIssue(tx, actors.board(company), issue, { title: `At ${now}` }));
      },
      comment: async (issue, item) => {
        item.happened = now;
        return run(async (tx) => say(tx, issue));
      },
      ownComment: async (issue) => run(async (tx) => say(tx, issue, reader)),
      read: async (issue, item) => {
        item.read = now;
        return run(async (tx) => markIssueRead(tx, reader, issue));
      },
      unread: async (issue, item) => {
        Object.assign(item, { read: 0, until: null });
        return run(async (tx) => markIssueUnread(tx, reader, issue));
      },
      snooze: async (issue, item) => {
        Object.assign(item, { read: now, until: Infinity });
        return run(async (tx) => snoozeIssue(tx, reader, issue, 60));
      },
      wake: async (issue, item) => {
        if (item.until !== Infinity) return;
        item.until = now;
        await database.db.execute(
          sql`update issue_reads set snoozed_until = greatest(now() - interval '1 second', read_at + interval '1 millisecond')
            where ${row(issue)}`,
        );
      },
      readAll: async () => {
        for (const each of expected.values()) if (isUnread(each, now)) each.read = now;
        return readAll();
      },
      settle: async () => settle(),
      age: async () => age(),
    };
    const names = Object.keys(acts);
    const story: string[] = [];
    for (let step = 0; step < 80; step += 1) {
      const [name, at] = [names[random(names.length)]!, random(issues.length)];
      story.push(`${name} ${at}`);
      now += 1;
      await nextInstant();
      await acts[name]!(issues[at]!, expected.get(issues[at]!.id)!);
      now += 1;
      await nextInstant();
      const should = issues.filter(({ id }) => isUnread(expected.get(id)!, now)).map(({ id }) => id);
      const put_off = issues.filter(({ id }) => {
        const item = expected.get(id)!;
        return item.until === Infinity && item.read >= item.happened;
      });
      const { unread_issues, snoozed_issues } = await readInbox(database.db, reader, company.id);
      const ids = (list: readonly { id: string }[]) => list.map(({ id }) => id).toSorted();
      expect({ story, unread: ids(unread_issues), snoozed: ids(snoozed_issues) }).toEqual({
        story,
        unread: should.toSorted(),
        snoozed: ids(put_off),
      });
    }
    expect((await unread()).length).toBeLessThanOrEqual(issues.length);
  });
});
