import { beforeAll, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createIssue } from '@acp/testkit';
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

const begin = Date.parse('2026-03-01T10:00:00Z');
const at = (seconds: number): Date => new Date(begin + seconds * 1000);

async function run(values: Partial<typeof schema.heartbeat_runs.$inferInsert> = {}) {
  const { company_id, agent_id } = cast;
  const issue = await createIssue(database.db, { id: company_id });
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
  const entries: [kind: string, seconds: number, payload?: object][] = [
    ['prompt', 10, { turn: 1 }],
    ['output', 12, { text: 'a' }],
    ['output', 18, { text: 'b' }],
    ['action', 19, { verb: 'list-issues', ok: true }],
    ['action', 20, { verb: 'status', ok: false, error: 'no' }],
    ['prompt', 20, { turn: 2 }],
    ['output', 38, { text: 'c' }],
  ];
  await database.db.insert(schema.run_events).values(
    entries.map(([kind, seconds, payload = {}], index) => ({
      run_id: row!.id,
      seq: index + 1,
      kind,
      payload,
      created_at: at(seconds),
    })),
  );
  return { run_id: row!.id, issue_id: issue.id };
}

/** The rows of the table of time, as one reads them. */
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
    'Verbs 2.0 s 2, 1 refused',
    'Turn 2 18.0 s first words after 18.0 s',
  ]);
  for (const [, seq] of text.matchAll(/href="#entry-(\d+)"/g)) expect(text).toContain(`id="entry-${seq!}"`);
  expect(text).not.toContain('Run again');
});

it('a failure says what to do next, and that the run can be tried again', async () => {
  const { run_id, issue_id } = await run({ status: 'failed', error: 'refused', error_category: 'auth' });
  const { text } = await Browser.of(app, cast.member).get(`/runs/${run_id}`);
  expect(text).toContain('The provider refused the key.');
  expect(text).toContain(`action="/issues/${issue_id}/trigger"`);
});

it('a run for one person alone tells others when it ran, and nothing of what was said', async () => {
  const { run_id } = await run({ private_to_user_id: cast.admin.user_id });
  const rows = async (person: Cast['admin']) =>
    rowsOf((await Browser.of(app, person).get(`/runs/${run_id}/part/steps`)).text);
  expect(await rows(cast.admin)).toHaveLength(5);
  expect(await rows(cast.viewer)).toEqual(['Waited 9.0 s']);
});
