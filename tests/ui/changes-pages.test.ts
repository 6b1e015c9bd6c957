import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createIssue } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let database: Database;
let cast: Cast;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
});

const PATCH = `@@ -1,2 +1,3 @@ export function total()
 first
-old line
+new <b>line</b>
+another
`;

let issue: { id: string };
let changes: string;
let run_id: string;

beforeEach(async () => {
  const { db } = database;
  const { company_id, agent_id } = cast;
  issue = await createIssue(db, { id: company_id }, { assignee_agent_id: agent_id });
  changes = `/issues/${issue.id}/changes`;
  const [run] = await db
    .insert(schema.heartbeat_runs)
    .values({
      company_id,
      agent_id,
      issue_id: issue.id,
      status: 'succeeded',
      wake_reason: 'assignment',
      adapter_type: 'cli_a_local',
    })
    .returning();
  run_id = run!.id;
  const [workspace] = await db
    .insert(schema.workspaces)
    .values({
      company_id,
      issue_id: issue.id,
      kind: 'repository',
      state: 'ready',
      branch: 'abc-1-fix',
      base_branch: 'main',
      head_commit: 'a'.repeat(40),
      work_commit: 'a'.repeat(40),
      base_commit: 'b'.repeat(40),
      version: 1,
      last_run_id: run_id,
      file_count: 2,
      commit_count: 1,
      additions: 3,
      deletions: 1,
    })
    .returning();
  const file = {
    workspace_id: workspace!.id,
    status: 'modified',
    additions: 2,
    deletions: 1,
    binary: false,
    patch: PATCH,
    patch_truncated: false,
  };
  await db.insert(schema.workspace_files).values([
    { ...file, path: 'src/total.ts', position: 0 },
    { ...file, path: 'logo.png', position: 1, binary: true, patch: null },
    { ...file, path: 'src/total.ts', position: 0, run_id },
  ]);
  await db.insert(schema.workspace_commits).values({
    workspace_id: workspace!.id,
    position: 0,
    sha: 'a'.repeat(40),
    author_name: 'Ada',
    subject: 'Totals are rounded',
  });
});

const comment = (browser: Browser, values: Record<string, string> = {}) =>
  browser.post(`/issues/${issue.id}/review-comments?view=split`, {
    path: 'src/total.ts',
    line: '2',
    side: 'new',
    line_text: 'new <b>line</b>',
    body_markdown: 'Rounds the **wrong** way.',
    ...values,
  });

describe('the changes of an issue', () => {
  it('are shown in one column or two, escaped, with commits and branch; the issue’s page leads there', async () => {
    const viewer = Browser.of(app, cast.viewer);
    const { text } = await viewer.get(changes);
    expect(text).toContain('abc-1-fix');
    expect(text).toContain('Totals are rounded');
    expect(text).toContain('2 changed files');
    expect(text).toContain('A binary file.');
    expect(text).toContain(
      'data-sign="+"><span class="hljs-keyword">new</span> &lt;b&gt;line&lt;/b&gt;</td>',
    );
    expect(text).not.toContain('Comment on a line');
    const split = await viewer.get(`${changes}?view=split`);
    expect(split.text).toMatch(/old line<\/td>\s*<td class="n added" data-side="new">2<\/td>/);
    const alone = await viewer.get(`${changes}?path=logo.png`);
    expect(alone.text).not.toContain('new &#60;b&#62;');
    const page = await viewer.get(`/issues/${issue.id}`);
    expect(page.text).toContain(`href="${changes}"`);
    const none = await createIssue(database.db, { id: cast.company_id });
    expect((await viewer.get(`/issues/${none.id}`)).text).not.toContain('>Changes</a>');
    expect((await viewer.get(`/issues/${none.id}/changes`)).text).toContain('Nothing has changed yet');
  });

  it('are commented on line by line: below the line while it is as it was, above its file afterwards', async () => {
    const member = Browser.of(app, cast.member);
    const made = await comment(member);
    expect(made.headers.location).toMatch(/\/changes\?view=split#review-/);
    const shown = await member.get(changes);
    expect(shown.text).toMatch(/<tr class="said">[^]*Rounds the <strong>wrong<\/strong>/);
    expect(shown.text).not.toContain('outdated');
    await database.db
      .update(schema.workspace_files)
      .set({ patch: PATCH.replace('new <b>line</b>', 'something else') })
      .where(eq(schema.workspace_files.path, 'src/total.ts'));
    expect((await member.get(changes)).text).toContain('outdated: line 2');
    const [, id] = /#review-(.+)$/.exec(made.headers.location!)!;
    await member.post(`/review-comments/${id!}/resolve`);
    expect((await member.get(changes)).text).toContain('What was said');
  });

  it('show all comments on their lines, however many there are', async () => {
    const remarks = Array.from({ length: 450 }, (_, index) => ({
      company_id: cast.company_id,
      issue_id: issue.id,
      path: 'src/total.ts',
      side: 'new',
      line: 2,
      body_markdown: `Remark number ${index}.`,
      status: index < 220 ? 'resolved' : 'open',
      created_at: new Date(Date.UTC(2026, 0, 1) + index),
    }));
    await database.db.insert(schema.review_comments).values(remarks);
    const { text } = await Browser.of(app, cast.member).get(changes);
    expect(new Set(text.match(/Remark number \d+\./g)).size).toBe(450);
    expect(text).toContain('the 230 open comments');
  });

  it('give back what was typed where a comment or a verdict is refused', async () => {
    const member = Browser.of(app, cast.member);
    const refused = await comment(member, { line: '0' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('Rounds the **wrong** way.');
  });

  it('are approved, or sent back, which wakes the assignee', async () => {
    const member = Browser.of(app, cast.member);
    await comment(member);
    const asked = await member.post(`${changes}/review`, { verdict: 'request_changes', body_markdown: '' });
    expect((await member.get(asked.headers.location!)).text).toContain('The assignee is asked for changes.');
    const wakeups = await database.db
      .select()
      .from(schema.wakeup_requests)
      .where(eq(schema.wakeup_requests.issue_id, issue.id));
    expect(wakeups).toHaveLength(1);
    await member.post(`${changes}/review`, { verdict: 'approve', body_markdown: '' });
    expect((await member.get(changes)).text).toContain('data-status="approved"');
  });

  it('are not said to be asked of an assignee where nobody is', async () => {
    await database.db
      .update(schema.issues)
      .set({ assignee_agent_id: null })
      .where(eq(schema.issues.id, issue.id));
    const member = Browser.of(app, cast.member);
    expect((await member.get(changes)).text).not.toContain('wakes the assignee');
    const asked = await member.post(`${changes}/review`, { verdict: 'request_changes', body_markdown: '' });
    const { text } = await member.get(asked.headers.location!);
    expect(text).toContain('nobody is assigned who would make them');
    expect(text).not.toContain('The assignee is asked');
  });

  it('are pushed, and made a pull request, by a form; one act at a time', async () => {
    const member = Browser.of(app, cast.member);
    expect((await member.get(changes)).text).toContain(`action="${changes}/pull-request"`);
    const asked = await member.post(`${changes}/pull-request`, { title: 'Totals', draft: 'on' });
    expect(asked.headers.location).toBe(changes);
    const { text } = await member.get(changes);
    expect(text).toContain('open pull request');
    expect(text).not.toContain(`action="${changes}/push"`);
    expect((await member.post(`${changes}/push`)).text).toContain(
      'another action on the workspace is in progress',
    );
    expect((await Browser.of(app, cast.viewer).post(`${changes}/push`)).status).toBe(403);
  });

  it('of one run stand on a page of their own, to which the run leads', async () => {
    const viewer = Browser.of(app, cast.viewer);
    expect((await viewer.get(`/runs/${run_id}`)).text).toContain(`${changes}?run=${run_id}`);
    const { text } = await viewer.get(`${changes}?run=${run_id}`);
    expect(text).toContain('src/total.ts');
    expect(text).not.toContain('logo.png');
  });

  it('say that they are out of date once another run has ended', async () => {
    const viewer = Browser.of(app, cast.viewer);
    const state = (shown: string) => viewer.get(`${changes}/part/state?shown=${shown}`);
    expect((await state(run_id)).text).not.toContain('Another run has ended');
    expect((await state('')).text).toContain('Another run has ended');
  });
});

describe('a comment on a line', () => {
  it('is deleted by its author or by an admin, and by nobody else', async () => {
    const made = await comment(Browser.of(app, cast.admin));
    const [, id] = /#review-(.+)$/.exec(made.headers.location!)!;
    const offered = async (person: Cast['admin']) =>
      (await Browser.of(app, person).get(changes)).text.includes(`/review-comments/${id!}/delete`);
    expect([await offered(cast.member), await offered(cast.admin)]).toEqual([false, true]);
    const remove = (person: Cast['admin']) => Browser.of(app, person).post(`/review-comments/${id!}/delete`);
    expect((await remove(cast.member)).status).toBe(403);
    expect((await remove(cast.stranger)).status).toBe(404);
    expect((await remove(cast.admin)).headers.location).toBe(changes);
  });
});

describe('the form of a project', () => {
  it('has what belongs to the repository; what hands out secrets or runs commands is an admin’s', async () => {
    const list = `/companies/${cast.company_id}/projects`;
    const admin = Browser.of(app, cast.admin);
    const made = await admin.post(list, {
      name: 'Shop',
      repo_url: 'https://example.org/shop.git',
      setup_command: 'npm ci',
      env: 'A=1\nB=${secret:TOKEN}\n',
      push_after_run: 'on',
    });
    const page = made.headers.location!.replace(/\?.*/, '');
    const { text } = await admin.get(page);
    expect(text).toContain('value="npm ci"');
    expect(text).toContain('B&#61;${secret:TOKEN}');
    const member = Browser.of(app, cast.member);
    expect((await member.get(page)).text).not.toContain('name="setup_command"');
    // A form without these fields leaves them unchanged.
    await member.post(page, { name: 'Shop two', repo_url: 'https://example.org/shop.git' });
    expect((await admin.get(page)).text).toContain('value="npm ci"');
    const refused = await admin.post(page, { name: 'Shop', env: 'no name' });
    expect(refused.text).toMatch(/id="e-env" role="alert">/);
  });
});
