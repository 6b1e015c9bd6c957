/** Lists that are searched by name, on their pages and through the API. */
import { beforeAll, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let admin: Browser;
let cast: Cast;
let database: Database;

/** The first word would match anything if it were a pattern. */
const SOUGHT = '%_ KASEREI';

interface List {
  path: string;
  api?: string;
  /** Adds one entry to a company ($1) under a name ($2). */
  insert: string;
  /** Of all companies: nothing is foreign. */
  everywhere?: boolean;
}

const lists: List[] = [
  {
    path: '/skills',
    insert: `insert into skills (company_id, slug, name, description, body_markdown)
      values ($1, md5($2), $2, 'How', 'Text')`,
  },
  { path: '/projects', insert: 'insert into projects (company_id, name) values ($1, $2)' },
  { path: '/goals', insert: 'insert into goals (company_id, title) values ($1, $2)' },
  {
    path: '/routines',
    insert: `insert into routines (company_id, name, title_template) values ($1, $2, 'Title')`,
  },
  {
    path: '/providers',
    insert: `insert into providers (company_id, name, adapter_type) values ($1, $2, 'family_chat_a')`,
  },
  {
    path: '/secrets',
    insert: `insert into secrets (company_id, name, description, sealed) values ($1, md5($2), $2, '')`,
  },
  {
    path: '/webhooks',
    insert: `insert into webhooks (company_id, url, events, secret_sealed, from_seq) values ($1, $2, '["*"]', '', 0)`,
  },
  {
    path: '/mcp-servers',
    insert: `insert into mcp_servers (company_id, name, url) values ($1, $2, 'https://mcp.example')`,
  },
  {
    path: '/peers',
    api: '/a2a/peers',
    insert: `insert into a2a_peers (company_id, label, url) values ($1, $2, 'https://peer.example')`,
  },
  {
    path: '/channels',
    insert: `insert into channels (company_id, name, kind, bot_token) values ($1, $2, 'slack', 'BOT_TOKEN')`,
  },
  {
    path: '/plugins',
    insert: `insert into plugins (company_id, name, slug, host_capabilities) values ($1, $2, md5($2), '[]')`,
  },
  {
    path: '/members/keys',
    api: '/board-user-keys',
    insert: `insert into board_user_keys (company_id, label, role, key_hash, key_prefix)
      values ($1::uuid, $2, 'viewer', md5($1::text || $2), 'sk_01234')`,
  },
  {
    path: '/members',
    api: '/users',
    insert: `with person as (
        insert into users (email, display_name) values (md5($1::text || $2) || '@test.example', $2) returning id)
      insert into memberships (company_id, user_id, role) select $1::uuid, id, 'viewer' from person`,
  },
  {
    path: '/approvals',
    insert: `insert into approvals (company_id, type, title) values ($1, 'plan', $2)`,
  },
  {
    path: '/admin/users',
    api: '/api/users',
    everywhere: true,
    insert: `insert into users (email, display_name) values ('of-all' || md5($1::text || $2) || '@test.example', $2)`,
  },
  {
    path: '/admin/workers',
    api: '/api/admin/workers',
    everywhere: true,
    insert: `insert into workers (name, status, key_hash, key_prefix)
      values ($2, 'approved', md5($1::text || $2), 'sk_01234')`,
  },
  {
    path: '/admin/trash',
    api: '/api/admin/trash',
    everywhere: true,
    insert: `insert into trash_entries (type, entity_id, company_id, name)
      values ('note', gen_random_uuid(), $1, $2)`,
  },
  {
    path: '/admin/plugins',
    api: '/api/plugins',
    everywhere: true,
    insert: `insert into plugins (company_id, name, slug, host_capabilities)
      values ($1, $2, 'of-all' || md5($2), '[]')`,
  },
  {
    path: '/companies',
    api: '/companies',
    everywhere: true,
    insert: `insert into companies (name, slug, identifier_prefix) select $2::text, md5($1::text || $2), 'ABC'`,
  },
];

beforeAll(async () => {
  ({ app, database } = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) }));
  cast = await createCast(database);
  admin = Browser.of(app, cast.instance_admin);
});

it.each(lists)('an admin searches $path by name', async (list) => {
  const { path, api, insert, everywhere } = list;
  const { company_id, other_company_id } = cast;
  // Users and plugins are in two lists each.
  const own = `list${lists.indexOf(list)}`;
  const [wanted, other, foreign] = [
    `Käserei 50%_ ${own}`,
    `Bäckerei 50%_ ${own}`,
    `Käserei fremd 50%_ ${own}`,
  ];
  await database.pool.query(insert, [company_id, wanted]);
  await database.pool.query(insert, [company_id, other]);
  if (!everywhere) await database.pool.query(insert, [other_company_id, foreign]);
  const q = `${SOUGHT} ${own.toUpperCase()}`;
  const page = everywhere ? path : `/companies/${company_id}${path}`;
  const { text } = await admin.get(`${page}?q=${encodeURIComponent(q)}`);
  const shown = text.slice(text.indexOf('<main')).replaceAll(/<select[\s\S]*?<\/select>/g, '');
  expect(shown).toContain(wanted);
  expect(shown).not.toContain(other);
  expect(shown).not.toContain(foreign);
  expect(shown).toContain(`value="${q}"`);

  const rows = everywhere ? api! : `/api/companies/${company_id}${api ?? path}`;
  const found = await admin.get(`${rows}?q=${encodeURIComponent(q)}`, { Accept: 'application/json' });
  expect([found.status, found.body]).toEqual([200, [expect.anything()]]);
  expect(JSON.stringify(found.body)).toContain(wanted);
});

it.each(lists)('a search of $path without a match says so, and leads back', async ({ path, everywhere }) => {
  const page = everywhere ? path : `/companies/${cast.company_id}${path}`;
  const { text } = await admin.get(`${page}?q=${encodeURIComponent('%%<b> ')}`);
  expect(text).toContain('Nothing matches “%%&#60;b&#62;”');
  expect(text).toContain(`href="${page}">Show everything again`);
  expect(text).toContain('role="search"');
});

it('lists that no page shows are searched through the API', async () => {
  const { company_id, agent_id, member } = cast;
  const { pool } = database;
  await pool.query(`update users set display_name = 'Söke Sought' where id = $1`, [member.user_id]);
  await pool.query(
    `insert into agent_api_keys (agent_id, company_id, label, key_hash, key_prefix) values ($1, $2, $3, $3, 'sk_01234')`,
    [agent_id, company_id, 'Sökeschlüssel'],
  );
  await pool.query(
    `insert into workers (name, status, key_hash, key_prefix) values ($1, 'approved', $1, 'sk_01234')`,
    ['Sökewerk'],
  );
  await pool.query(
    `insert into trash_entries (type, entity_id, company_id, name) values ('issue', gen_random_uuid(), $1, 'Söke lost')`,
    [company_id],
  );
  const found = async (path: string) =>
    (await admin.get(`${path}?q=SOKE`, { Accept: 'application/json' })).body as object[];
  expect(await found(`/api/companies/${company_id}/members`)).toMatchObject([{ user_id: member.user_id }]);
  expect(await found(`/api/agents/${agent_id}/api-keys`)).toMatchObject([{ label: 'Sökeschlüssel' }]);
  expect(await found(`/api/companies/${company_id}/issues/deleted`)).toMatchObject([{ name: 'Söke lost' }]);
  const workers = await request(app).get('/api/workers?q=SOKE').set(cast.agent.headers);
  expect(workers.body).toMatchObject([{ name: 'Sökewerk' }]);
});

const linksOf = (text: string): string[] =>
  [...text.matchAll(/(?:href|data-source)="([^"]+)"/g)].map(([, link]) =>
    link!.replaceAll('&#61;', '=').replaceAll('&#38;', '&'),
  );

it('a search keeps the other filters, its pages and its refreshes keep the search', async () => {
  await database.pool.query(
    `insert into approvals (company_id, type, title, status)
      select $1, 'plan', 'Silo ' || n, 'approved' from generate_series(1, 60) n`,
    [cast.company_id],
  );
  const path = `/companies/${cast.company_id}/approvals`;
  const { text } = await admin.get(`${path}?status=approved&q=silo`);
  expect(text).toContain('<input type="hidden" name="status" value="approved" />');
  const links = linksOf(text);
  expect(links).toContain(`${path}?status=rejected&q=silo`);
  const next = links.find((link) => link.includes('cursor='))!;
  expect(next).toContain(`${path}?status=approved&q=silo&cursor=`);
  const second = (await admin.get(next)).text;
  expect(second.match(/Silo \d+/g)).toHaveLength(10);
  const source = linksOf(second).find((link) => link.includes('status=approved&q=silo&cursor='))!;
  expect((await admin.get(source, { 'HX-Request': 'true' })).text.match(/Silo \d+/g)).toHaveLength(10);
});

it('a short list has no search field', async () => {
  const { text } = await Browser.of(app, cast.stranger).get(`/companies/${cast.other_company_id}/channels`);
  expect(text).not.toContain('role="search"');
});

it('a viewer finds members by name only, not by the addresses that only admins see', async () => {
  const { rows } = await database.pool.query<{ email: string }>('select email from users where id = $1', [
    cast.member.user_id,
  ]);
  await database.pool.query(`update users set display_name = 'Mira' where id = $1`, [cast.member.user_id]);
  const page = `/companies/${cast.company_id}/members?q=`;
  const viewer = Browser.of(app, cast.viewer);
  expect((await viewer.get(`${page}mira`)).text).toContain('Mira');
  expect((await viewer.get(page + rows[0]!.email)).text).toContain('Nothing matches');
  expect((await admin.get(page + rows[0]!.email)).text).toContain('Mira');
});
