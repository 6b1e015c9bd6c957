import { beforeAll, expect, it } from '@jest/globals';
import { recordRefusals } from '@acp/core';
import { type Database, schema } from '@acp/db';
import { newId } from '@acp/kernel';
import { createAgent, createIssue } from '@acp/testkit';
import { and, eq } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let database: Database;
let cast: Cast;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
});

const begin = Date.parse('2026-03-01T10:00:00Z');
const at = (seconds: number): Date => new Date(begin + seconds * 1000);

type Entries = [kind: string, seconds: number, payload?: object][];
const turns: Entries = [
  ['prompt', 10, { turn: 1 }],
  ['output', 12, { text: 'a' }],
  ['output', 18, { text: 'b' }],
  ['action', 19, { verb: 'list-issues', ok: true }],
  ['action', 20, { verb: 'status', ok: false, error: 'no' }],
  ['prompt', 20, { turn: 2 }],
  ['output', 38, { text: 'c' }],
];

async function run(
  values: Partial<typeof schema.heartbeat_runs.$inferInsert> = {},
  entries: Entries = turns,
) {
  const { company_id, agent_id } = cast;
  const issue = await createIssue(database.db, { id: company_id }, { assignee_agent_id: agent_id });
  const [row] = await database.db
    .insert(schema.heartbeat_runs)
    .values({
      company_id,
      agent_id,
      issue_id: issue.id,
      status: 'succeeded',
      wake_reason: 'assignment',
      adapter_type: 'llm',
      created_at: at(0),
      started_at: at(9),
      finished_at: at(40),
      ...values,
    })
    .returning();
  const events = entries.map(([kind, seconds, payload = {}], index) => ({
    run_id: row!.id,
    part: row!.transcript_part,
    seq: index + 1,
    kind,
    payload,
    created_at: at(seconds),
  }));
  if (events.length > 0) await database.db.insert(schema.run_events).values(events);
  return { run_id: row!.id, issue_id: issue.id, part: row!.transcript_part };
}

/** Rows of the time table, as displayed. */
const rowsOf = (text: string): string[] =>
  [...text.matchAll(/<th scope="row">([^]*?)<\/tr>/g)].map(([, row]) =>
    row!
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );

it('a run says where its time went, turn by turn, each with its place in the transcript', async () => {
  const { run_id } = await run();
  const viewer = Browser.of(app, cast.viewer);
  const { text } = await viewer.get(`/runs/${run_id}`);
  expect(rowsOf(text)).toEqual([
    'Waited 9.0 s',
    'Prepared 1.0 s',
    'Turn 1 8.0 s first words after 2.0 s',
    'Verbs 2.0 s 2 verbs, 1 refused',
    'Turn 2 18.0 s first words after 18.0 s',
  ]);
  for (const [, seq] of text.matchAll(/href="#entry-(\d+)"/g)) expect(text).toContain(`id="entry-${seq!}"`);
  expect(text).not.toContain('Run again');
});

it('an issue says what its agent wanted and had no effect, without its transcript being opened', async () => {
  const { run_id, issue_id } = await run();
  const verbs = [
    { verb: 'comment', ok: true, error: null, args: {} },
    { verb: 'status', ok: false, error: 'unknown <status>', args: { line: 'gone' } },
    { verb: 'mcp:', ok: false, error: 'it is locked', args: { line: `tracker__close ${'x'.repeat(500)}` } },
  ];
  await database.db
    .insert(schema.run_actions)
    .values(verbs.map((each, index) => ({ ...each, run_id, ordinal: index + 1, mutating: true })));
  const viewer = Browser.of(app, cast.viewer);
  for (const path of ['', '/part/run']) {
    const { text } = await viewer.get(`/issues/${issue_id}${path}`);
    expect(text).toContain('<code>/status gone</code> had no effect: unknown &#60;status&#62;');
    expect(text).toMatch(/<code>\/mcp:tracker__close x{50,80}…<\/code> had no effect: it is locked/);
    expect(text).not.toContain('<code>/comment</code> had no effect');
  }
});

it('a failed run is told on the board, in lists and inboxes, and can be run again where its error is', async () => {
  const { run_id, issue_id } = await run({ status: 'failed', error: 'no such model' });
  const { company_id, agent_id } = cast;
  const set = async (values: Partial<typeof schema.issues.$inferInsert>) =>
    database.db.update(schema.issues).set(values).where(eq(schema.issues.id, issue_id));
  await set({ run_failed: true, assignee_agent_id: agent_id, status: 'todo' });
  const details = { identifier: 'X-1', run_id, error: 'no such model' };
  await database.db.insert(schema.activity).values({
    company_id,
    actor_type: 'agent',
    actor_name: 'Ada',
    action: 'issue.run_failed',
    entity_type: 'issue',
    entity_id: issue_id,
    details,
  });
  const member = Browser.of(app, cast.member);
  const flag = '<span class="flag" data-flag="run failed">run failed</span>';
  const [card, row, part] = [
    `/companies/${company_id}/board/part/cards?issues=${issue_id}`,
    `/companies/${company_id}/issues/part/rows?issues=${issue_id}`,
    `/issues/${issue_id}/part/run`,
  ];
  for (const path of [card, row]) expect((await member.get(path)).text).toContain(flag);
  expect((await member.get(part)).text).toMatch(
    /class="error">no such model<\/p>\s*<form[^>]*\/trigger"[^]*?Run again/,
  );
  expect((await Browser.of(app, cast.viewer).get(part)).text).not.toContain('Run again');
  expect((await member.get(`/issues/${issue_id}/part/timeline`)).text).toMatch(
    new RegExp(`failed a run: <a class="failure" href="/runs/${run_id}">no such model</a>`),
  );
  const inbox = `/companies/${company_id}/inbox`;
  expect((await member.get(inbox)).text).toContain('nothing goes on until somebody runs it again');
  await set({ status: 'done' });
  for (const path of [card, row]) expect((await member.get(path)).text).not.toContain(flag);
  expect((await member.get(part)).text).not.toContain('Run again');
  expect((await member.get(inbox)).text).not.toContain('nothing goes on until');
});

it('a run under way is told beside the composer, leads to it, and then to what came of it', async () => {
  const { run_id, issue_id } = await run({ status: 'running', finished_at: null });
  const part = `/issues/${issue_id}/part/working`;
  const [viewer, member] = [Browser.of(app, cast.viewer), Browser.of(app, cast.member)];
  expect((await viewer.get(`/issues/${issue_id}`)).text).toMatch(
    /part\/working\?known&#61;"|part\/working\?known="/,
  );
  expect((await viewer.get(part)).text).toMatch(new RegExp(`is working[^]*href="#run-${run_id}"`));
  expect(
    [(await viewer.get(part)).text, (await member.get(part)).text].map((text) => text.includes('/cancel"')),
  ).toEqual([false, true]);
  const end = async (status: string) =>
    database.db.update(schema.heartbeat_runs).set({ status }).where(eq(schema.heartbeat_runs.id, run_id));
  await end('succeeded');
  expect((await viewer.get(part)).text).toMatch(/has finished[^]*href="#newest"/);
  expect((await viewer.get(`${part}?known=${run_id}`)).text.trim()).toBe('');
  await end('failed');
  expect((await viewer.get(part)).text).toMatch(new RegExp(`failed[^]*href="#run-${run_id}"`));
});

it('a run of a program says what each of its tools took, which failed, and which never came to an end', async () => {
  const { run_id } = await run({ status: 'failed' }, [
    ['tool', 9, { name: 'set-up', command: 'npm ci' }],
    ['tool', 10, { name: 'result', ok: true, of: 'set-up' }],
    ['prompt', 11, { turn: 1 }],
    ['tool', 12, { name: 'Bash', input: { command: '<b>' } }],
    ['tool', 12, { name: 'Read', input: 'a.ts' }],
    ['tool', 13, { name: 'Bash', denied: true, message: 'no' }],
    ['tool', 14, { name: 'result', ok: false }],
    ['tool', 15, { name: 'result', ok: true }],
    ['tool', 16, { name: 'file_change', detail: 'a.ts' }],
    ['tool', 20, { name: 5, input: 7 }],
    ['tool', 21, { name: 'result', ok: 'perhaps' }],
    ['tool', 22, {}],
    ['tool', 23, { name: 'result', result: { deep: true } }],
    ['tool', 30, { name: 'command', command: 'sleep 60' }],
  ]);
  const { text } = await Browser.of(app, cast.viewer).get(`/runs/${run_id}/part/steps`);
  expect(rowsOf(text)).toEqual([
    'Waited 9.0 s',
    'Prepared 2.0 s',
    'set-up 1.0 s npm ci',
    'Answer 29.0 s no words, 7 tool calls, 0 input tokens, 0 output tokens, $0.00',
    'Bash 2.0 s failed: &#60;b&#62;',
    'Read 3.0 s a.ts',
    '5 1.0 s',
    '1.0 s',
    'command 10.0 s sleep 60',
  ]);
  expect(text).not.toContain('steps-scroll');
  expect((await Browser.of(app, cast.viewer).get(`/runs/${run_id}`)).status).toBe(200);
  const long = await run(
    {},
    Array.from({ length: 700 }, (_, n) => ['tool', 10 + n / 100, { name: n % 2 === 0 ? 'Bash' : 'result' }]),
  );
  const many = (await Browser.of(app, cast.viewer).get(`/runs/${long.run_id}/part/steps`)).text;
  expect(many).toContain('steps-scroll');
  expect(rowsOf(many)).toHaveLength(301);
  expect(many).toContain('The first 300 tool calls.');
});

it('a failure says what to do next, and that the run can be tried again', async () => {
  const { run_id, issue_id } = await run({ status: 'failed', error: 'refused', error_category: 'auth' });
  const { text } = await Browser.of(app, cast.member).get(`/runs/${run_id}`);
  expect(text).toContain('The provider refused the key.');
  expect(text).toContain(`action="/issues/${issue_id}/trigger"`);
});

it('says why a run failed in the reader’s language, where the service says it, and a model’s words as they are', async () => {
  const german = { 'accept-language': 'de' };
  const member = Browser.of(app, cast.member);
  for (const [error, said] of [
    [
      'no LLM provider is configured: connect a model to the company, or have the operator set SERVICE_DEFAULT_LLM_PROVIDER',
      'kein LLM-Anbieter ist eingerichtet: Verbinden Sie ein Modell mit der Firma',
    ],
    [
      'neither the agent nor its provider names a model',
      'weder der Agent noch sein Anbieter nennt ein Modell',
    ],
    [
      'the provider answered 400: no model is configured',
      'the provider answered 400: no model is configured',
    ],
  ] as const) {
    const { run_id: id, issue_id } = await run({ status: 'failed', error, error_category: 'config' });
    for (const path of [`/runs/${id}`, `/issues/${issue_id}`, `/companies/${cast.company_id}/runs`])
      expect([path, (await member.get(path, german)).text.includes(said)]).toEqual([path, true]);
  }
});

it('a run leads to the pages of admins only those who may open them', async () => {
  const { run_id } = await run({ status: 'failed', error: 'refused', error_category: 'quota' });
  const { company_id } = cast;
  await recordRefusals(database.db, { company_id, run_id }, [
    { host: 'secret.example', port: 443, door: 'program', times: 2 },
  ]);
  const links = async (person: Cast['admin']) => {
    const { text } = await Browser.of(app, person).get(`/runs/${run_id}/facts`);
    expect(text).toContain('secret.example');
    return ['providers', 'egress'].map((page) => text.includes(`/companies/${company_id}/${page}"`));
  };
  expect(await links(cast.admin)).toEqual([true, true]);
  expect(await links(cast.member)).toEqual([false, false]);
});

it('a run offers to run who has its issue now, and nothing while that is in the trash', async () => {
  const { run_id, issue_id } = await run();
  const { company_id } = cast;
  const member = Browser.of(app, cast.member);
  const page = async () => (await member.get(`/runs/${run_id}`)).text;
  const set = async (values: Partial<typeof schema.issues.$inferInsert>) =>
    database.db.update(schema.issues).set(values).where(eq(schema.issues.id, issue_id));
  const [workspace] = await database.db
    .insert(schema.workspaces)
    .values({ company_id, issue_id, kind: 'folder', state: 'ready', version: 1 })
    .returning();
  const file = { status: 'added', additions: 1, deletions: 0, binary: false, patch_truncated: false };
  await database.db
    .insert(schema.workspace_files)
    .values({ ...file, workspace_id: workspace!.id, run_id, path: 'a.ts', position: 0 });
  expect(await page()).toMatch(/what it changed[^]*Run again/);
  const other = await createAgent(database.db, { id: company_id });
  await set({ assignee_agent_id: other.id });
  expect(await page()).toContain('Run the assignee');
  expect(await page()).not.toContain('Run again');
  await set({ assignee_agent_id: null });
  expect(await page()).not.toContain('/trigger"');
  await set({ assignee_agent_id: cast.agent_id, deleted_at: new Date() });
  expect(await page()).not.toContain(issue_id);
});

it('a run for one person alone tells others when it ran, and nothing of what was said', async () => {
  const { run_id } = await run({ private_to_user_id: cast.admin.user_id });
  const rows = async (person: Cast['admin']) =>
    rowsOf((await Browser.of(app, person).get(`/runs/${run_id}/part/steps`)).text);
  expect(await rows(cast.admin)).toHaveLength(5);
  expect(await rows(cast.viewer)).toEqual(['Waited 9.0 s']);
  await recordRefusals(database.db, { company_id: cast.company_id, run_id }, [
    { host: 'private.example', port: 443, door: 'program', times: 1 },
  ]);
  const facts = async (person: Cast['admin']) => (await Browser.of(app, person).get(`/runs/${run_id}`)).text;
  expect(await facts(cast.admin)).toContain('private.example');
  expect(await facts(cast.viewer)).not.toContain('private.example');
  const silent = await run(
    { private_to_user_id: cast.admin.user_id, status: 'queued', finished_at: null },
    [],
  );
  const said = async (person: Cast['admin']) =>
    (await Browser.of(app, person).get(`/runs/${silent.run_id}`)).text.includes('only its owner can read');
  expect([await said(cast.admin), await said(cast.viewer)]).toEqual([false, true]);
});

function inPieces(response: request.Response, done: (error: Error | null, body: unknown) => void): void {
  let body = '';
  response.on('data', (piece: Buffer) => (body += piece.toString()));
  response.on('end', () => done(null, body));
}

it('a viewer downloads the whole transcript, and links to each of its entries', async () => {
  const { run_id, part } = await run();
  const viewer = Browser.of(app, cast.viewer);
  const page = (await viewer.get(`/runs/${run_id}`)).text;
  const path = `/api/heartbeat-runs/${run_id}/transcript`;
  expect(page).toContain(`href="${path}" download`);
  // The text of two entries is in one block, numbered by the first.
  for (const seq of [1, 2, 4, 5, 7]) {
    expect(page).toContain(`id="entry-${seq}"`);
    expect(page).toContain(`href="#entry-${seq}"`);
  }
  // More than is read in one go.
  await database.db.insert(schema.run_events).values(
    Array.from({ length: 1100 }, (_, n) => ({
      run_id,
      part,
      seq: n + 8,
      kind: 'output',
      payload: { text: `${n}` },
    })),
  );
  const sent = await request(app).get(path).set(cast.viewer.headers).buffer(true).parse(inPieces);
  expect(sent.headers['content-disposition']).toBe(`attachment; filename=run-${run_id}.jsonl`);
  const entries = String(sent.body)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { seq: number });
  expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 1107 }, (_, n) => n + 1));
  expect((await Browser.of(app, cast.stranger).get(path)).status).toBe(404);
});

it('of a run in a private chat others download nothing, and read nothing of it in a comparison', async () => {
  const mine = await run({ private_to_user_id: cast.member.user_id });
  const path = `/api/heartbeat-runs/${mine.run_id}/transcript`;
  const download = async (headers: Record<string, string>) =>
    request(app).get(path).set(headers).buffer(true).parse(inPieces);
  expect((await download(cast.member.headers)).body).toContain('"seq":7');
  expect([(await download(cast.admin.headers)).status, (await download(cast.admin.headers)).body]).toEqual([
    200,
    '',
  ]);
  const compared = `/runs/${mine.run_id}/compare`;
  const again = await run({
    issue_id: mine.issue_id,
    created_at: at(100),
    private_to_user_id: cast.member.user_id,
  });
  expect((await Browser.of(app, cast.member).get(`/runs/${again.run_id}/compare`)).text).toContain('ab');
  expect((await Browser.of(app, cast.admin).get(`/runs/${again.run_id}/compare`)).text).toContain(
    'Nothing you are allowed to read.',
  );
  expect((await Browser.of(app, cast.admin).get(compared)).status).toBe(200);
});

it('two runs that said nothing are not said to be withheld', async () => {
  const first = await run({ status: 'failed' }, []);
  const second = await run({ status: 'failed', issue_id: first.issue_id, created_at: at(100) }, []);
  const { text } = await Browser.of(app, cast.admin).get(`/runs/${second.run_id}/compare`);
  expect(text).toContain('Neither run said anything.');
  expect(text).not.toContain('allowed to read');
});

it('a run is compared with the one before at the same work, and with no other', async () => {
  const first = await run({ cost_usd: '0.50000000', input_tokens: 700 });
  const viewer = Browser.of(app, cast.viewer);
  expect((await viewer.get(`/runs/${first.run_id}/compare`)).text).toContain('Nothing to compare with');
  const again = { issue_id: first.issue_id, created_at: at(100), started_at: at(100), finished_at: at(105) };
  const second = await run({ ...again, model: 'other-model', cost_usd: '0.25000000' });
  await run({ created_at: at(90) });
  await database.db
    .update(schema.run_events)
    .set({ payload: { text: 'z' } })
    .where(and(eq(schema.run_events.run_id, second.run_id), eq(schema.run_events.seq, 2)));
  expect((await viewer.get(`/runs/${second.run_id}`)).text).toContain(
    `href="/runs/${second.run_id}/compare"`,
  );
  const { text } = await viewer.get(`/runs/${second.run_id}/compare`);
  const cells = [...text.matchAll(/<td>\s*([^<]*?)\s*<\/td>/g)].map(([, cell]) => cell);
  expect(cells).toEqual(expect.arrayContaining(['other-model', '31.0 s', '5.0 s', '700']));
  expect(text).toContain(`href="/runs/${first.run_id}">The run before`);
  expect(text).toMatch(/<del>ab\s*<\/del><ins>zb\s*<\/ins>/);
});

it('a run that has ended is run again, with another model for once where a person says so', async () => {
  const { run_id, issue_id } = await run();
  const member = Browser.of(app, cast.member);
  expect((await member.get(`/runs/${run_id}`)).text).toContain('Run again with another model');
  const trigger = `/issues/${issue_id}/trigger`;
  await member.api('patch', `/api/issues/${issue_id}`, { assignee_agent_id: cast.agent_id });
  const { rows } = await database.pool.query(
    `delete from heartbeat_runs where issue_id = $1 and status = 'queued' returning id`,
    [issue_id],
  );
  expect(rows.length).toBeLessThan(2);
  expect((await member.post(trigger, { model: 'a-larger-one' })).status).toBe(303);
  const made = await database.pool.query(
    `select payload from heartbeat_runs where issue_id = $1 and status = 'queued'`,
    [issue_id],
  );
  expect(made.rows).toEqual([{ payload: { model: 'a-larger-one' } }]);
  const twice = await member.post(trigger, { model: 'another' });
  expect([twice.status, twice.text]).toEqual([409, expect.stringContaining('keeps its model')]);
});

it('shows on the issue what is under way, open, and lists all its runs', async () => {
  const { issue_id } = await run();
  const values = { issue_id, started_at: at(50), finished_at: null };
  const live = await run({ ...values, status: 'running', created_at: at(49) });
  await run({ ...values, status: 'failed', created_at: at(60), finished_at: at(61) });
  const member = Browser.of(app, cast.member);
  const { text } = await member.get(`/issues/${issue_id}/part/run`);
  expect(text.match(/data-transcript="[^"]+"/g)).toEqual([`data-transcript="${live.run_id}"`]);
  expect(text).toMatch(new RegExp(`data-fold="${live.run_id}"\\s+open`));
  expect(text).toMatch(/2 other runs/);
  const all = (await member.get(`/companies/${cast.company_id}/runs?issue=${issue_id}`)).text;
  expect(all.match(/<tr >|<tr>/g)).toHaveLength(4);
  expect(all).toMatch(new RegExp(`Runs of\\s+<a[^>]+href="/issues/${issue_id}"`));
  // What is not the company's, or not there any more, leads nowhere.
  const none = newId();
  const foreign = (await member.get(`/companies/${cast.company_id}/runs?issue=${none}`)).text;
  expect(foreign).toContain('Look at the runs of all');
  expect(foreign).not.toContain(`href="/issues/${none}"`);
});

it('lists and dashboard say what runs are about, and nothing of an issue in the trash', async () => {
  const viewer = Browser.of(app, cast.viewer);
  const running = { status: 'running', finished_at: null, created_at: new Date() };
  const [mine, gone] = [await run(running), await run(running)];
  await database.db
    .update(schema.issues)
    .set({ deleted_at: new Date() })
    .where(eq(schema.issues.id, gone.issue_id));
  for (const path of [`/companies/${cast.company_id}/runs`, `/companies/${cast.company_id}`]) {
    const { text } = await viewer.get(path);
    expect(text).toContain(`href="/runs/${gone.run_id}"`);
    expect(text).toMatch(new RegExp(`href="/issues/${mine.issue_id}" title="[^"]+"\\s*>[A-Z0-9]+-\\d+</a>`));
    expect(text).not.toContain(gone.issue_id);
  }
});

it('a run in progress is cancelled from its issue, by those who may, and they stay there', async () => {
  const { run_id, issue_id } = await run({ status: 'queued', started_at: null, finished_at: null }, []);
  const cancels = `action="/runs/${run_id}/cancel"`;
  const page = `/issues/${issue_id}`;
  const member = Browser.of(app, cast.member);
  expect((await Browser.of(app, cast.viewer).get(page)).text).not.toContain(cancels);
  expect((await member.get(page)).text).toContain(cancels);
  expect((await member.get(`${page}/part/run`)).text).toContain(cancels);
  const cancelled = await member.post(`/runs/${run_id}/cancel`, { back: 'issue' });
  expect([cancelled.status, cancelled.headers.location]).toEqual([303, `${page}#run-${run_id}`]);
  expect((await member.get(page)).text).not.toContain(cancels);
});
