/** Lists with more than one page: where new things are created, and what stays as it is while things happen. */
import { beforeAll, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import { type Cast, createCast } from '../http/cast.ts';
import { pageForms } from '../http/page-forms.ts';
import { Browser, startPages } from '../http/pages.ts';

let admin: Browser;
let database: Database;
let cast: Cast;
let company: string;

beforeAll(async () => {
  const pages = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) });
  ({ database } = pages);
  cast = await createCast(database);
  admin = Browser.of(pages.app, cast.instance_admin);
  company = `/companies/${cast.company_id}`;
  await fill(database, cast);
});

async function fill({ pool }: Database, { company_id, agent_id }: Cast): Promise<void> {
  const inserts = [
    `insert into heartbeat_runs (company_id, agent_id, status, wake_reason, adapter_type, created_at)
      select $1, $2, 'failed', 'manual', 'llm', now() - make_interval(mins => n) from generate_series(1, 120) n`,
    `insert into approvals (company_id, type, title, requested_by_agent_id, created_at)
      select $1, 'plan', 'Plan ' || n, $2, now() - make_interval(mins => n) from generate_series(1, 120) n`,
    `insert into plugins (company_id, name, slug, host_capabilities, created_at)
      select $1, 'Plugin ' || n, 'plugin-' || n, '[]', now() - make_interval(mins => n) from generate_series(1, 120) n
      where $2::uuid is not null`,
    `insert into alerts (company_id, kind, key, level, message)
      select $1, 'disk', n::text, 'warning', 'Alert ' || n from generate_series(1, 120) n where $2::uuid is not null`,
    `insert into workers (name, status, key_hash, key_prefix, created_at)
      select 'Worker ' || n, 'approved', n::text, 'w', now() - make_interval(mins => n) from generate_series(1, 120) n
      where $1::uuid is not null and $2::uuid is not null`,
    `insert into agents (company_id, name, role, adapter_type, heartbeat_enabled, heartbeat_interval_sec)
      select $1, 'Agent ' || n, 'engineer', 'llm', false, 300 from generate_series(1, 120) n where $2::uuid is not null`,
    `insert into cost_events (company_id, agent_id, provider, model, input_tokens, output_tokens, cached_tokens, cost_usd)
      select $1, id, 'Vendor', 'model', 1, 1, 0, 0.1 from agents where company_id = $1 and $2::uuid is not null`,
    `insert into budget_policies (company_id, scope_type, scope_id, "window", limit_usd, action, created_at)
      select $1, 'company', $1, 'month', 10, 'notify', now() - make_interval(mins => n)
      from generate_series(1, 120) n where $2::uuid is not null`,
    `insert into model_prices (company_id, model, input_usd, output_usd, cached_usd, created_at)
      select $1, 'vendor/model-' || n, 3, 15, 0.3, now() - make_interval(mins => n)
      from generate_series(1, 120) n where $2::uuid is not null`,
    `insert into goals (company_id, title, level, status, parent_goal_id, created_at)
      select $1, 'Goal ' || n, 'company', 'active', null, now() - make_interval(mins => n)
      from generate_series(1, 240) n where $2::uuid is not null`,
    `update goals set parent_goal_id = (select id from goals where title = 'Goal 240' and company_id = $1)
      where title = 'Goal 239' and company_id = $1 and $2::uuid is not null`,
  ];
  for (const insert of inserts) await pool.query(insert, [company_id, agent_id]);
}

const unescaped = (text: string): string => text.replaceAll('&#61;', '=').replaceAll(/&(?:amp|#38);/g, '&');
const hrefOf = (text: string, label: string): string =>
  unescaped(new RegExp(`href="([^"]+)"[^>]*>${label}<`).exec(text)![1]!);

const lists = [
  [() => `${company}/runs`, 'Older runs'],
  [() => `${company}/approvals`, 'Older approvals'],
  [() => `${company}/plugins`, 'Older plugins'],
  [() => `${company}/budgets`, 'Older budgets'],
  [() => '/admin/alerts', 'Older alerts'],
  [() => '/admin/workers', 'Older workers'],
] as const;

it.each(lists)('a page that refreshes itself stays the page it is: %s', async (path, label) => {
  const second = hrefOf((await admin.get(path())).text, label);
  const { text } = await admin.get(second);
  const part = text.slice(text.indexOf('<main'));
  const source = unescaped(/data-source="([^"]+)"/.exec(part)![1]!);
  const refreshed = await admin.get(source, { 'HX-Request': 'true' });
  expect(refreshed.status).toBe(200);
  expect(refreshed.text).not.toContain('<html');
  // The third page follows in both: no row is skipped or repeated between this page and the next.
  expect(hrefOf(refreshed.text, label)).toBe(hrefOf(text, label));
});

it('the head of a list leads into the form below it', async () => {
  for (const path of [`${company}/plugins`, '/admin/workers', '/admin/users', '/companies']) {
    const { text } = await admin.get(path);
    const [, field] = /class="button" href="#([^"]+)"/.exec(text)!;
    expect(text).toMatch(
      new RegExp(`<(input|select|textarea)[^>]* id="${field}"|<(input|select|textarea)\\s+id="${field}"`),
    );
  }
});

it.each([
  ['agents', () => `${company}/agents`],
  ['spending', () => `${company}/costs`],
])(
  'the page of %s shows a hundred, and all on request, then also when it refreshes itself',
  async (_, path) => {
    const rows = (text: string): number => text.split(/href="\/agents\/[\w-]+"/).length - 1;
    const { text } = await admin.get(path());
    expect(rows(text)).toBe(100);
    const all = await admin.get(hrefOf(text, 'Show all 12\\d'));
    expect(rows(all.text)).toBeGreaterThan(120);
    expect(all.text).not.toContain('Show all');
    const source = unescaped(/data-source="([^"]+)"/.exec(all.text.slice(all.text.indexOf('<main')))![1]!);
    const refreshed = await admin.get(source, { 'HX-Request': 'true' });
    expect(rows(refreshed.text)).toBe(rows(all.text));
  },
);

it('the form that changes a price shows it, however many others there are', async () => {
  const { text } = await admin.get(`${company}/costs/prices?model=vendor%2Fmodel-110`);
  const form = pageForms(text).find(({ action }) => action.includes('/costs/prices?model='))!;
  expect([form.values.model, form.values.input_usd, form.values.cached_usd]).toEqual([
    ['vendor/model-110'],
    ['3'],
    ['0.3'],
  ]);
  const saved = await admin.post(form.action, { ...form.values, input_usd: ['4'] });
  expect(saved.status).toBe(303);
  const { body } = await admin.api('get', `/api${company}/model-prices?limit=200`);
  expect((body as { model: string }[]).find(({ model }) => model === 'vendor/model-110')).toMatchObject({
    input_usd: 4,
    output_usd: 15,
    cached_usd: 0.3,
  });
});

it('a goal names its parts and what it is part of, however many others there are', async () => {
  const of = async (name: string): Promise<string> => {
    const { text } = await admin.get(`${company}/goals?q=${encodeURIComponent(name)}`);
    return hrefOf(text, name);
  };
  const [whole, part] = [await of('Goal 240'), await of('Goal 239')];
  expect((await admin.get(whole)).text).toMatch(/<h2>Parts<\/h2>[^]*>Goal 239<\/a>/);
  expect((await admin.get(part)).text).toMatch(
    new RegExp(`class="trail"[^]*href="${whole}">Goal 240<[^]*<h1>`),
  );
});

it('a goal shows its projects page by page, and how far its issues are', async () => {
  const [goal, other] = [await admin.api('post', `/api${company}/goals`, { title: 'Open a second shop' })]
    .concat(await admin.api('post', `/api${company}/goals`, { title: 'Close the first' }))
    .map(({ body }) => body.id as string) as [string, string];
  const page = `/goals/${goal}`;
  const empty = (await admin.get(page)).text;
  for (const said of ['Projects that are linked to this goal', 'Issues that have this goal themselves'])
    expect(empty).toContain(said);
  await database.pool.query(
    `insert into projects (company_id, goal_id, name, created_at)
    select $1, case n when 61 then $3::uuid else $2::uuid end, 'Shelf ' || n, now() - make_interval(mins => n) from generate_series(1, 61) n`,
    [cast.company_id, goal, other],
  );
  for (const [title, goal_id, status] of [
    ['Rent it', goal, 'done'],
    ['Paint it', goal, 'backlog'],
    ['Sell it', other, 'backlog'],
  ])
    await admin.api('post', `/api${company}/issues`, { title, goal_id, status });
  const { text } = await admin.get(page);
  const shelves = (shown: string): number => [...shown.matchAll(/>Shelf \d+</g)].length;
  expect(shelves(text)).toBe(50);
  const rest = (await admin.get(hrefOf(text, 'Older projects'))).text;
  expect([shelves(rest), rest.includes('Shelf 61'), rest.includes('Older projects')]).toEqual([
    10,
    false,
    false,
  ]);
  expect(text).toContain('1 of 2 issues done');
  expect((await admin.get(`${page}/part/issues`)).text).toContain('1 of 2 issues done');
  for (const name of ['As a list', 'On the board']) {
    const listed = (await admin.get(hrefOf(text, name))).text;
    const shown = ['Rent it', 'Paint it', 'Sell it'].map((title) => listed.includes(title));
    expect([name, ...shown]).toEqual([name, true, true, false]);
    // The filter can be seen and changed.
    expect(listed).toMatch(/id="f-goal"[^>]*value="Open a second shop"/);
  }
});

it('a goal with many parts names the first hundred, and all on request', async () => {
  const { rows } = await database.pool.query<{ id: string }>(
    `with whole as (insert into goals (company_id, title, level, status)
       values ($1, 'The whole', 'company', 'active') returning id),
     parts as (insert into goals (company_id, title, level, status, parent_goal_id)
       select $1, 'Piece ' || n, 'team', 'active', id from whole, generate_series(1, 130) n)
     select id from whole`,
    [cast.company_id],
  );
  const pieces = (text: string): number => text.split(/>Piece \d+</).length - 1;
  const { text } = await admin.get(`/goals/${rows[0]!.id}`);
  expect(pieces(text)).toBe(100);
  expect(pieces((await admin.get(hrefOf(text, 'Show all 130'))).text)).toBe(130);
});

it('what is read no further than a hundred is not counted as if that were all', async () => {
  const inbox = (await admin.get(`${company}/inbox`)).text;
  expect(inbox).toMatch(/Waiting for your decision <span class="soft small">99\+</);
  await database.pool.query(
    `insert into heartbeat_runs (company_id, agent_id, status, wake_reason, adapter_type)
     select $1, id, 'queued', 'manual', 'llm' from agents where company_id = $1`,
    [cast.company_id],
  );
  const dashboard = (await admin.get(company)).text;
  expect(dashboard.match(/and 91\+ more/g)).toHaveLength(2);
});

it('companies are in pages by name, each of them in one', async () => {
  await database.pool.query(`
    insert into companies (name, slug, identifier_prefix)
    select 'Käserei ' || lpad((n % 60)::text, 3, '0'), 'kaese-' || n, 'K' from generate_series(1, 120) n`);
  const seen: string[] = [];
  let path: string | undefined = '/companies?q=K%C3%A4serei';
  for (let page = 0; page < 3; page += 1) {
    const { text } = await admin.get(path!);
    seen.push(...[...text.matchAll(/">(Käserei \d+)<\/a/g)].map(([, name]) => name!));
    path = text.includes('More companies') ? hrefOf(text, 'More companies') : undefined;
  }
  expect(path).toBeUndefined();
  expect(seen).toEqual(Array.from({ length: 120 }, (_, n) => `Käserei ${String(n >> 1).padStart(3, '0')}`));
});
