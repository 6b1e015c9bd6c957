import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ListIssues } from '@acp/contract';
import { type Database, schema } from '@acp/db';
import { encodeCursor, newId } from '@acp/kernel';
import {
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  nextInstant,
  testDatabase,
} from '@acp/testkit';
import { type SQL, sql } from 'drizzle-orm';
import { countIssues, listIssues } from './index.ts';
import { searchIssues } from './search-issues.ts';

const FORGED_ID = '11111111-1111-4111-8111-111111111111';
let database: Database;
beforeAll(async () => {
  ({ database } = await testDatabase());
});

async function stage() {
  const company = await createCompany(database.db, { slug: `abc-${newId().slice(0, 8)}` });
  const titled = async (...titles: string[]) => {
    for (const title of titles) await createIssue(database.db, company, { title });
  };
  const titles = async (query: ListIssues = {}) =>
    (await listIssues(database.db, company.id, query)).items.map((issue) => issue.title);
  /** All titles, page by page. */
  const paged = async (query: ListIssues) => {
    const pages: string[][] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page = await listIssues(database.db, company.id, { ...query, ...(cursor ? { cursor } : {}) });
      pages.push(page.items.map((issue) => issue.title));
      cursor = page.next_cursor;
    }
    return pages;
  };
  return { company, titled, titles, paged };
}

describe('listIssues', () => {
  it('gives the newest first, 50 unless told, 200 at most, in one statement', async () => {
    const s = await stage();
    await database.db.insert(schema.issues).values(
      Array.from({ length: 210 }, (_, index) => ({
        company_id: s.company.id,
        title: `${index}`,
        issue_number: index,
        identifier: `X-${index}`,
        created_at: new Date(1_700_000_000_000 + index),
      })),
    );
    const before = database.statements();
    const page = await listIssues(database.db, s.company.id, {});
    expect(database.statements() - before).toBe(1);
    expect(page.items).toHaveLength(50);
    expect(page.items[0]).toMatchObject({ title: '209', created_at: '2023-11-14T22:13:20.209Z' });
    expect(await s.titles({ limit: 1000 })).toHaveLength(200);
  });

  it('pages without gap or double where many were created in the same millisecond', async () => {
    const s = await stage();
    const at = new Date();
    for (let index = 0; index < 7; index += 1)
      await createIssue(database.db, s.company, { title: `${index}`, created_at: at });
    const pages = await s.paged({ limit: 3 });
    expect(pages.map((page) => page.length)).toEqual([3, 3, 1]);
    expect(new Set(pages.flat()).size).toBe(7);
  });

  it('filters by status list, assignee, project and goal, and knows no issue of others, in the trash or below', async () => {
    const [s, other] = [await stage(), await stage()];
    const agent = await createAgent(database.db, s.company);
    const [project_id, goal_id] = [newId(), newId()];
    await createIssue(database.db, s.company, { title: 'a', status: 'todo', assignee_agent_id: agent.id });
    await nextInstant();
    await createIssue(database.db, s.company, { title: 'b', status: 'done', project_id });
    await nextInstant();
    await createIssue(database.db, s.company, { title: 'c', status: 'blocked', goal_id });
    await other.titled('foreign');
    const gone = await createIssue(database.db, s.company, { title: 'gone', deleted_at: new Date() });
    await createIssue(database.db, s.company, { title: 'below', parent_issue_id: gone.id });
    expect(await s.titles()).toEqual(['c', 'b', 'a']);
    expect(await s.titles({ status: 'todo, done' })).toEqual(['b', 'a']);
    expect(await s.titles({ status: '' })).toHaveLength(3);
    expect(await s.titles({ assigneeAgentId: agent.id })).toEqual(['a']);
    expect(await s.titles({ projectId: project_id })).toEqual(['b']);
    expect(await s.titles({ goalId: goal_id })).toEqual(['c']);
    expect(await s.titles({ projectId: project_id, status: 'todo' })).toEqual([]);
  });

  it.each([
    [{ status: 'todo,doing' }, 'query.status: unknown status doing'],
    [{ cursor: 'nonsense' }, 'invalid cursor'],
    [{ cursor: encodeCursor(['yesterday', 'me']) }, 'invalid cursor'],
    [{ q: 'xyz', cursor: encodeCursor(['2026-01-01T00:00:00Z', FORGED_ID]) }, 'invalid cursor'],
  ])('with %j is invalid', async (query, message) => {
    const s = await stage();
    await expect(s.titles(query)).rejects.toMatchObject({ kind: 'invalid', message });
  });
});

describe('listIssues with q', () => {
  it('finds by part of a word, by misspelt words, by all words in any order and by identifier', async () => {
    const s = await stage();
    await s.titled('Fix the login page', 'Migrate the database', 'Write documentation', '100% of users_x');
    expect(await s.titles({ q: 'ogi' })).toEqual(['Fix the login page']);
    expect(await s.titles({ q: 'logni' })).toEqual(['Fix the login page']);
    expect(await s.titles({ q: 'databse' })).toEqual(['Migrate the database']);
    expect(await s.titles({ q: 'PAGE fix' })).toEqual(['Fix the login page']);
    expect(await s.titles({ q: 'abc-3' })).toEqual(['Write documentation']);
    expect(await s.titles({ q: '0%' })).toEqual(['100% of users_x']);
    expect(await s.titles({ q: 's_x' })).toEqual(['100% of users_x']);
    expect(await s.titles({ q: '%' })).toEqual(['100% of users_x']);
    expect(await s.titles({ q: 'zebra' })).toEqual([]);
    expect(await s.titles({ q: String.raw`\ ' " (` })).toEqual([]);
    expect(await s.titles({ q: '   ' })).toHaveLength(4);
  });

  it('gives the best match first and pages in that order', async () => {
    const s = await stage();
    await s.titled(
      'Deploy',
      'Prepare the deployment of the whole platform',
      'Deplyo to staging',
      'Deploy again',
    );
    const best = [
      'Deploy',
      'Deploy again',
      'Prepare the deployment of the whole platform',
      'Deplyo to staging',
    ];
    expect(await s.titles({ q: 'deploy' })).toEqual(best);
    expect(await s.paged({ q: 'deploy', limit: 1 })).toEqual(best.map((title) => [title]));
    expect(await s.titles({ q: 'deploy', status: 'done' })).toEqual([]);
  });
});

describe('listIssues with an identifier', () => {
  it('gives it first, then those that begin with it, and no title that is merely similar', async () => {
    const s = await stage();
    await s.titled(...Array.from({ length: 40 }, (_, index) => `Archive the abc records of ${index + 1}`));
    await s.titled('Follow-up of ABC-3');
    const numbers = [3, ...Array.from({ length: 10 }, (_, index) => 39 - index)];
    const expected = numbers.map((number) => `Archive the abc records of ${number}`);
    const found = await s.titles({ q: 'abc-3' });
    expect(found).toEqual([...expected, 'Follow-up of ABC-3']);
    expect(await s.titles({ q: 'ABC-3', status: 'done' })).toEqual([]);
    for (const q of ['XYZ-3', 'abc-0', 'abc-999999999']) expect(await s.titles({ q })).toEqual([]);
  });

  it('counts what it lists, of words too', async () => {
    const s = await stage();
    await s.titled('Deploy', 'Deplyo to staging', 'Prepare the deployment', 'Bind the books');
    for (const q of ['deploy', 'abc-1', 'prepare deployment', 'the', 'zebra']) {
      const listed = await s.titles({ q });
      expect([q, await countIssues(database.db, s.company.id, { q }, 10)]).toEqual([q, listed.length]);
    }
    expect(await countIssues(database.db, s.company.id, { q: 'deploy' }, 2)).toBe(2);
  });
});

describe('with 50,000 issues in 20 companies', () => {
  let large: Database;
  let company: { id: string };
  beforeAll(async () => {
    large = (await cloneDatabase('list')).database;
    await large.db.execute(sql`
      insert into companies (name, slug, identifier_prefix) select 'c', 'c-' || n, 'C' from generate_series(1, 20) n`);
    await large.db.execute(sql`
      insert into issues (company_id, title, status, issue_number, identifier, created_at)
      select c.id, initcap(verbs[1 + n % 7]) || ' the ' || nouns[1 + n % 11] || ' of ' || places[1 + n % 13] || ' ' || n,
        (array['todo', 'done', 'backlog', 'in_progress'])[1 + n % 4], n, 'C-' || n, now() - make_interval(secs => n)
      from companies c, generate_series(1, 2500) n,
        (select array['fix', 'build', 'remove', 'test', 'describe', 'measure', 'replace'] as verbs,
          array['login', 'database', 'report', 'invoice', 'server', 'queue', 'editor', 'parser', 'cache', 'mailer', 'index'] as nouns,
          array['Berlin', 'Paris', 'Lisbon', 'Vienna', 'Oslo', 'Madrid', 'Rome', 'Riga', 'Athens', 'Sofia', 'Prague', 'Dublin', 'Bern'] as places) w`);
    await large.db.execute(sql`vacuum analyze issues`);
    const { rows } = await large.db.execute<{ id: string }>(sql`select id from companies limit 1`);
    company = rows[0]!;
  });

  it('fuzzy search goes through the trigram index and reads few blocks', async () => {
    const filters = sql`i.company_id = ${company.id} and i.deleted_at is null`;
    for (const q of ['databse of vienna', 'invoice', 'abc-77', 'parser of Oslo 100']) {
      const { rows } = await large.db.execute<{ 'QUERY PLAN': string }>(
        sql`explain (analyze, buffers) ${searchIssues(filters, q, 51, undefined)}`,
      );
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain('issues_search');
      expect(plan).not.toContain('Seq Scan on issues');
      // The first line about buffers is that of the whole statement; the table alone has more.
      const [, hit = 0, read = 0] = /Buffers: shared hit=(\d+)(?: read=(\d+))?/.exec(plan)!;
      expect(Number(hit) + Number(read)).toBeLessThan(1000);
    }
  });

  it.each(['in', '%%%', 'o o o', '__a'])('nobody reads the whole trigram index for %s', async (q) => {
    let plan = '';
    const explaining = {
      execute: async (statement: SQL) => {
        const { rows } = await large.db.execute(sql`explain ${statement}`);
        plan = rows.map((row) => Object.values(row).join()).join('\n');
        return { rows: [] };
      },
    };
    await listIssues(explaining as never, company.id, { q });
    // The index may serve to find the company's issues, but is not asked for trigrams.
    expect(plan).toContain('~~*');
    expect(plan).not.toMatch(/Index Cond: .*title/);
  });

  it('of a word that all titles have the newest are rated, and paged through', async () => {
    const found: { title: string }[] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page = await listIssues(large.db, company.id, {
        q: 'the',
        limit: 200,
        ...(cursor ? { cursor } : {}),
      });
      found.push(...page.items);
      cursor = page.next_cursor;
    }
    const numbers = found.map(({ title }) => Number(title.split(' ').at(-1))).toSorted((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
  });

  it('a page reads no more rows than it shows, filtered or not, however deep', async () => {
    const first = await listIssues(large.db, company.id, { status: 'todo', limit: 200 });
    expect(first.items).toHaveLength(200);
    for (const where of [
      sql`true`,
      sql`i.status in ('todo')`,
      sql`(i.created_at, i.id) < (now() - interval '20 minutes', ${newId()}::uuid)`,
    ]) {
      const { rows } = await large.db.execute<{ 'QUERY PLAN': string }>(sql`
        explain select * from issues i where i.company_id = ${company.id} and i.deleted_at is null and ${where}
        order by i.created_at desc nulls last, i.id desc nulls last limit 51`);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toMatch(/Index Scan using issues_company/);
      expect(plan).not.toContain('Sort');
    }
  });
});

describe('the orders of listIssues', () => {
  const sorts = ['created_at', 'updated_at', 'priority', 'title'] as const;

  it.each([
    ['created_at', 'alpha|gamma|Delta|Alpha|beta'],
    ['updated_at', 'alpha|gamma|Delta|Alpha|beta'],
    ['priority', 'Delta|Alpha|gamma|alpha|beta'],
    ['title', 'alpha|beta|delta|gamma'],
  ] as const)('%s pages through all of them, both ways, without gap or double', async (sort, expected) => {
    const s = await stage();
    const titles = expected.includes('Delta')
      ? ['beta', 'Alpha', 'Delta', 'gamma', 'alpha']
      : ['gamma', 'beta', 'delta', 'alpha'];
    for (const [index, title] of titles.entries())
      await createIssue(database.db, s.company, {
        title,
        priority: (['low', 'critical', 'critical', 'high', 'medium'] as const)[index]!,
        created_at: new Date(1_700_000_000_000 + index),
        updated_at: new Date(1_700_000_000_000 + index),
      });
    const forwards = (await s.paged({ sort, limit: 2 })).flat();
    expect(forwards.join('|')).toBe(expected);
    expect((await s.paged({ sort, limit: 2, reverse: true })).flat()).toEqual(forwards.toReversed());
  });

  it('hold with a search, by part of the title or by identifier, and cursors of other orders are refused', async () => {
    const s = await stage();
    await s.titled('pay the invoice', 'send the invoice', 'else');
    expect(await s.titles({ q: 'invoice', sort: 'title' })).toEqual(['pay the invoice', 'send the invoice']);
    const { items, next_cursor } = await listIssues(database.db, s.company.id, { limit: 1 });
    expect(await s.titles({ q: items[0]!.identifier, sort: 'title' })).toEqual([items[0]!.title]);
    await expect(s.titles({ sort: 'priority', cursor: next_cursor! })).rejects.toThrow('invalid cursor');
  });

  it.each(sorts)('%s reads no more of a large company than a page', async (sort) => {
    const s = await stage();
    await database.db.execute(sql`
      insert into issues (company_id, title, issue_number, identifier, priority)
      select ${s.company.id}, 'Issue ' || n, n, 'X-' || n, (array['low', 'high'])[1 + n % 2]
      from generate_series(1, 3000) n`);
    await database.db.execute(sql`analyze issues`);
    let plan = '';
    const client = {
      query: async ({ text }: { text: string }, values: unknown[]) => {
        const { rows } = await database.pool.query<Record<string, string>>(`explain ${text}`, values);
        plan = rows.map((row) => Object.values(row).join()).join('\n');
        return { rows: [] };
      },
    };
    await listIssues({ _: { session: { client } } } as never, s.company.id, { sort });
    expect(plan).toMatch(/Index Scan (?:Backward )?using issues_company/);
    expect(plan).not.toContain('Sort Key');
  });

  it('narrow down to a label, and to what nobody has, and are counted as far as asked', async () => {
    const s = await stage();
    const agent = await createAgent(database.db, s.company);
    await createIssue(database.db, s.company, { title: 'taken', assignee_agent_id: agent.id });
    await s.titled('free', 'labelled');
    const [label] = await database.db
      .insert(schema.labels)
      .values({ company_id: s.company.id, name: 'bug' })
      .returning();
    const { items } = await listIssues(database.db, s.company.id, { q: 'labelled' });
    await database.db.insert(schema.issue_labels).values({ issue_id: items[0]!.id, label_id: label!.id });
    expect(await s.titles({ labelId: label!.id })).toEqual(['labelled']);
    expect((await s.titles({ unassigned: true })).toSorted()).toEqual(['free', 'labelled']);
    const counted = async (most: number) => countIssues(database.db, s.company.id, {}, most);
    expect([await counted(10), await counted(2)]).toEqual([3, 2]);
  });
});
