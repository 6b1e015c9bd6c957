/** Every page in a language that marks translated texts: anything unmarked must have been written by people. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import { findMessages } from '../../scripts/messages/find-messages.ts';
import { Catalogue, keyOf } from '../../apps/web/src/ui/kit/catalogue.ts';
import { offer } from '../../apps/web/src/ui/kit/languages.ts';
import { terms } from '../../apps/web/src/ui/kit/terms.ts';
import { uiPages } from '../../apps/web/src/ui/pages.ts';
import { createCast } from '../http/cast.ts';
import { Browser, type Pages, startPages } from '../http/pages.ts';
import { createStage, pathOn, type Stage } from '../http/stage.ts';

const messages = findMessages();

/** Esperanto, which has no translation. */
class Marked extends Catalogue {
  constructor() {
    super('eo', new Map());
  }

  override find(text: string, context = ''): string {
    return messages.has(keyOf(text, context)) ? `⟦${text}⟧` : text;
  }

  override findPlural(one: string, other: string): string {
    return messages.has(one) ? `⟦${other}⟧` : other;
  }
}

let pages: Pages;
let stage: Stage;
let admin: Browser;
let written: string;

beforeAll(async () => {
  offer(new Marked());
  pages = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) });
  const cast = await createCast(pages.database);
  stage = { ...(await createStage(pages.database, cast)), part: 'runs', tool: 'greet' };
  admin = Browser.of(pages.app, cast.instance_admin);
  written = await everythingWritten(pages.database);
});

/** Texts of the ready-made companies, which are not translated. */
function teams(): string[] {
  const folder = resolve(import.meta.dirname, '../../examples/companies');
  return readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
}

/** Everything in the database, as one text. */
async function everythingWritten({ pool }: Database): Promise<string> {
  const { rows } = await pool.query<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const texts = await Promise.all(
    rows.map(
      async ({ name }) => (await pool.query(`select row_to_json(t)::text as row from ${name} t`)).rows,
    ),
  );
  return [...teams(), ...texts.flat().map(({ row }: { row: string }) => row)]
    .join('\n')
    .replaceAll(String.raw`\n`, '\n')
    .replaceAll(String.raw`\"`, '"')
    .toLowerCase();
}

const ENTITIES: Record<string, string> = { 34: '"', 38: '&', 39: "'", 60: '<', 61: '=', 62: '>' };
const plain = (html: string): string => html.replace(/&#(\d+);/g, (_, code: string) => ENTITIES[code] ?? ' ');

/** Texts with letters outside any mark, on the page and in its visible attributes. */
function unmarked(html: string): string[] {
  const body = html
    .replace(/<(script|style|pre|textarea|code|kbd|datalist)\b[\s\S]*?<\/\1>/g, ' ')
    .replace(/<head>[\s\S]*?<\/head>/, '');
  const attributes = [...body.matchAll(/\s(?:title|aria-label|placeholder|alt|data-confirm)="([^"]*)"/g)].map(
    (match) => match[1]!,
  );
  return [body.replace(/<[^>]*>/g, '\n'), ...attributes].flatMap((text) => outside(plain(text)));
}

function outside(text: string): string[] {
  let depth = 0;
  let shown = '';
  for (const sign of text) {
    if (sign === '⟦') depth += 1;
    if (depth === 0) shown += sign;
    if (sign === '⟧') {
      depth -= 1;
      shown += '\n';
    }
  }
  return shown
    .split('\n')
    .map((line) => line.replace(/^[\s·/,.:;()#@]+|[\s·/,.:;()…]+$/g, ''))
    .filter((line) => /\p{L}{2}/u.test(line));
}

/** Names of programs, formats, languages and months, times, amounts of money, and identifiers shown as code or beside a name. */
const NOBODYS =
  /^(?:TOML|SHA-256|SERVICE_[A-Z_]+|[a-z]+\.[a-z]+|\d+ [A-Z][a-z]{2}(?:(?: \d{4})?, [\d:]+ UTC)?|(?:\d+ [A-Z][a-z]{2}: )?[\d.,\s]+USD|tests: Staged|family_\w+|cli_[ab]_\w+|docker|lambda|[A-Z]{2}|[A-Z]\w+-\d+ Staged|(?:Esperanto|English|Deutsch)|\p{L}+ \d{4})$/u;

/** Identifiers of values are in the database too: when one is shown, it must be translated. */
const isTerm = (text: string): boolean => terms.includes(text.replaceAll(' ', '_'));

const said = (text: string): boolean =>
  NOBODYS.test(text) || (!isTerm(text) && written.includes(text.toLowerCase()));

const paths = uiPages.flatMap((route) => (route.kind === 'page' ? [[route.path, route] as const] : []));

it.each(paths)('%s says everything in the language of the reader', async (path, route) => {
  // The keys of the cast are named after their roles.
  const named = path.endsWith('/members/keys') ? ['viewer', 'member', 'admin'] : [];
  const { text, headers } = await admin.get(pathOn(stage, route), { 'Accept-Language': 'eo' });
  expect(headers['content-language']).toBe('eo');
  expect([...new Set(unmarked(text).filter((line) => !said(line) && !named.includes(line)))]).toEqual([]);
});

it('says on a card that somebody works on it, and what the search has found, as a page and in the palette', async () => {
  const { companyId, issueId, runId, agentId } = stage;
  const { pool } = pages.database;
  await pool.query('update issues set checked_out_by_agent_id = $2 where id = $1', [issueId, agentId]);
  await pool.query(`update heartbeat_runs set issue_id = $2, wake_reason = 'mention' where id = $1`, [
    runId,
    issueId,
  ]);
  const esperanto = { 'Accept-Language': 'eo' };
  const board = await admin.get(`/companies/${companyId}/board`, esperanto);
  expect(board.text).toContain('data-flag="working">⟦working⟧<');
  const found = `/companies/${companyId}/find?q=staged`;
  for (const headers of [esperanto, { ...esperanto, 'HX-Request': 'true' }]) {
    const { text } = await admin.get(found, headers);
    expect(text).toContain('⟦mention⟧');
    expect(text).toMatch(/⟦Run of .+ on .+⟧/);
    expect(unmarked(text).filter((line) => !said(line))).toEqual([]);
  }
});

it('says why a sign-in was refused', async () => {
  const credentials = { email: 'nobody@example.com', password: 'correct horse battery' };
  const { text } = await new Browser(pages.app).post('/login', credentials, { 'Accept-Language': 'eo' });
  expect(text).toContain('⟦wrong e-mail or password⟧');
});

it('says why a request was refused, also with values in it: on the page, and beside the field', async () => {
  const { issueId, routineId } = stage;
  const eo = { 'Accept-Language': 'eo' };
  await pages.database.pool.query(`update routines set status = 'paused' where id = $1`, [routineId]);
  const paused = await admin.post(`/routines/${routineId}/fire`, {}, eo);
  expect(paused.text).toContain('⟦the routine is ⟦paused⟧⟧');
  const label = { name: 'Twice', color: '#112233' };
  expect((await admin.post(`/issues/${issueId}/labels`, label, eo)).status).toBe(303);
  const twice = await admin.post(`/issues/${issueId}/labels`, label, eo);
  expect(twice.text).toContain('⟦label Twice already exists⟧');
  const { companyId } = stage;
  const kept = await admin.post(`/companies/${companyId}/delete`, { slug: 'no' }, eo);
  expect(kept.text).toMatch(/id="e-confirm-slug" role="alert">⟦Type [^ ]+ to delete the company\.⟧/);
  // The API is in English.
  const told = await admin.api('post', `/api/routines/${routineId}/fire`);
  expect(told.body).toEqual({ error: 'the routine is paused' });
});

it('says the sentences of the service that it has stored: why a run failed, an agent is paused, a webhook is off', async () => {
  const { agentId, runId, webhookId } = stage;
  const { pool } = pages.database;
  for (const [statement, id, path, sentence] of [
    [
      `update heartbeat_runs set status = 'failed', error = $2 where id = $1`,
      runId,
      `/runs/${runId}`,
      'run lost: scheduler stopped',
    ],
    [
      `update agents set status = 'paused', pause_reason = $2 where id = $1`,
      agentId,
      `/agents/${agentId}`,
      'the agent that spawned it is paused',
    ],
    [
      'update webhooks set enabled = false, disabled_reason = $2 where id = $1',
      webhookId,
      `/webhooks/${webhookId}`,
      'whoever set it up may no longer do so',
    ],
  ] as const) {
    const told = async (text: string) => {
      await pool.query(statement, [id, text]);
      return (await admin.get(path, { 'Accept-Language': 'eo' })).text;
    };
    expect(await told(sentence)).toContain(`⟦${sentence}⟧`);
    // What others have written stays as it is.
    expect(await told('out of paper')).not.toContain('⟦out of paper⟧');
  }
});
