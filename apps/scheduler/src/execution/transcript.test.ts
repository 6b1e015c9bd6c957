import { beforeAll, describe, expect, it } from '@jest/globals';
import { listRunEvents } from '@acp/core';
import { schema } from '@acp/db';
import type { Database } from '@acp/db';
import { newId, Scrubber } from '@acp/kernel';
import { createAgent, createCompany, testDatabase, testLogger, waitFor } from '@acp/testkit';
import { HeldRun } from './held-run.ts';
import { Transcript } from './transcript.ts';
import { TranscriptWriter } from './transcript-writer.ts';

let database: Database;
let writer: TranscriptWriter;
beforeAll(async () => {
  ({ database } = await testDatabase());
  writer = new TranscriptWriter(database);
});

async function scene() {
  const agent = await createAgent(database.db, await createCompany(database.db));
  const run = { id: newId(), company_id: agent.company_id, agent_id: agent.id, fence: 1, status: 'running' };
  await database.db
    .insert(schema.heartbeat_runs)
    .values({ ...run, wake_reason: 'manual', adapter_type: 'llm' });
  const held = new HeldRun(
    {
      run_id: run.id,
      company_id: run.company_id,
      fence: 1,
      audience: { topic: null, admins_only: false, private_to_user_id: null },
    },
    30,
    performance.now(),
  );
  const scrubber = new Scrubber(['top-secret-key']);
  const transcript = new Transcript({ writer, held, scrubber, logger: testLogger() });
  const events = async () => {
    const rows = await listRunEvents(database.db, { kind: 'system', name: 'tests' }, run.id, {});
    return rows.map(({ seq, kind, payload }) => [seq, kind, payload]);
  };
  return { run, held, transcript, events };
}

describe('a transcript', () => {
  it('holds no secret, however the pieces of the stream are cut, nor in a payload', async () => {
    const { transcript, events } = await scene();
    for (const piece of ['The key is top-', 'sec', 'ret-key', '.']) await transcript.output(piece);
    transcript.add('action', { args: { line: 'top-secret-key' }, deep: [{ text: 'a top-secret-key' }] });
    await transcript.flush();
    expect(await events()).toEqual([
      [1, 'output', { text: 'The key is [redacted].' }],
      [2, 'action', { args: { line: '[redacted]' }, deep: [{ text: 'a [redacted]' }] }],
    ]);
  });

  it('takes what PostgreSQL can not store: NUL, and characters cut in halves', async () => {
    const { transcript, events } = await scene();
    const [high, low] = ['\ud83d', '\ude00'];
    await transcript.output(`${'x'.repeat(40)}\u0000${high}`);
    await transcript.flush();
    await transcript.output(`${low}${'y'.repeat(20)}${high}`);
    transcript.add('log', { message: `\u0000${low}` });
    await transcript.flush();
    const stored = await events();
    const text = stored.flatMap(([, kind, payload]) =>
      kind === 'output' ? [Reflect.get(Object(payload), 'text')] : [],
    );
    expect(text.join('')).toBe(`${'x'.repeat(40)}😀${'y'.repeat(20)}\ufffd`);
    expect(stored.at(-1)).toEqual([stored.length, 'log', { message: '\ufffd' }]);
  });

  it('of a run that is lost is written no further, and says so to the run', async () => {
    const { run, held, transcript, events } = await scene();
    transcript.add('log', { message: 'mine' });
    await transcript.flush();
    await database.pool.query('update heartbeat_runs set fence = 2 where id = $1', [run.id]);
    transcript.add('log', { message: 'not mine any more' });
    await transcript.flush();
    transcript.add('log', { message: 'nor this' });
    await transcript.flush();
    expect(await events()).toEqual([[1, 'log', { message: 'mine' }]]);
    expect(held.stopped).toBe('lost');
    expect(held.signal.aborted).toBe(true);
  });

  it('goes together with those of the other runs of the process, past one that somebody has locked', async () => {
    const scenes = await Promise.all(Array.from({ length: 20 }, async () => scene()));
    const before = database.statements();
    const say = async (message: string) =>
      Promise.all(
        scenes.map(async ({ transcript }) => {
          transcript.add('log', { message });
          await transcript.flush();
        }),
      );
    await say('one');
    expect(database.statements() - before).toBe(1);
    const [locked, free] = scenes as [(typeof scenes)[number], (typeof scenes)[number]];
    const client = await database.pool.connect();
    await client.query('begin');
    await client.query('select 1 from heartbeat_runs where id = $1 for no key update', [locked.run.id]);
    const said = say('two');
    await waitFor(async () => (await free.events()).length === 2);
    expect(await locked.events()).toHaveLength(1);
    await client.query('commit');
    client.release();
    await said;
    expect(await locked.events()).toEqual([
      [1, 'log', { message: 'one' }],
      [2, 'log', { message: 'two' }],
    ]);
    expect(scenes.every(({ held }) => !held.signal.aborted)).toBe(true);
  });
});
