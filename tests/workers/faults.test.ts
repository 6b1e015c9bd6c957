/** Failures that a fleet survives, and its cost while nothing is waiting. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { schema, transaction } from '@acp/db';
import { waitFor } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { createFleet } from '../../apps/web/src/fleet/fleet.ts';
import { TestFleet } from './fleet.ts';

let fleet: TestFleet;

beforeAll(async () => {
  fleet = await TestFleet.start('faults');
});

afterAll(async () => fleet.stop());

it('a result that was taken while no scheduler ran is applied by the next one', async () => {
  const stopScheduler = await fleet.startScheduler();
  const worker = await fleet.register();
  const { run_id, issue } = await fleet.work();
  const task = await fleet.claimed(worker);
  await stopScheduler();
  const path = `/api/workers/tasks/${task.id}/complete`;
  expect((await worker.call('POST', path, { summary: 'Done.\n/status done' })).status).toBe(204);
  expect(await fleet.run(run_id)).toMatchObject({ status: 'running' });
  const stopNext = await fleet.startScheduler();
  expect(await fleet.ended(run_id)).toMatchObject({ status: 'succeeded', summary: 'Done.' });
  const comments = fleet.kit.database.db.$count(schema.comments, eq(schema.comments.issue_id, issue.id));
  expect(await comments).toBe(1);
  await stopNext();
});

it('many repeats of one result at once are all taken as one', async () => {
  const stopScheduler = await fleet.startScheduler();
  const worker = await fleet.register();
  const { run_id, issue } = await fleet.work();
  const task = await fleet.claimed(worker);
  const send = async () =>
    worker.call('POST', `/api/workers/tasks/${task.id}/complete`, { summary: 'Once.' });
  const answers = await Promise.all([send(), send(), send(), send()]);
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204]);
  await fleet.ended(run_id);
  const comments = fleet.kit.database.db.$count(schema.comments, eq(schema.comments.issue_id, issue.id));
  expect(await comments).toBe(1);
  await stopScheduler();
});

it('what no longer fits into a full transcript is refused before anything is locked or written', async () => {
  const { db } = fleet.kit.database;
  const stopScheduler = await fleet.startScheduler();
  const worker = await fleet.register();
  const { run_id } = await fleet.work();
  const task = await fleet.claimed(worker);
  const path = `/api/workers/tasks/${task.id}/events`;
  const send = async (text: string) =>
    (await worker.call('POST', path, { events: [{ kind: 'output', payload: { text } }] })).status;
  expect(await send('Begun.')).toBe(204);
  await db
    .update(schema.remote_tasks)
    .set({ transcript_bytes: 32 * 1024 * 1024 - 100 })
    .where(eq(schema.remote_tasks.id, task.id));
  await transaction(fleet.kit.database, async (tx) => {
    await tx.execute(sql`select from heartbeat_runs where id = ${run_id} for update`);
    expect(await send('x'.repeat(60_000))).toBe(413);
  });
  expect(await send('Fits.')).toBe(204);
  expect(await send('Does not fit any more.')).toBe(413);
  await stopScheduler();
});

it('claims in vain cost no statement, and a task that comes is found at once', async () => {
  const { database, listener } = fleet.kit;
  await listener.ready();
  const { id } = await fleet.register({ tags: ['quiet'] });
  const own = createFleet({
    database,
    listener,
    registration: { approval: false, max: 0 },
    claims: { base_url: 'http://service.example' },
  });
  const worker = {
    kind: 'worker',
    worker_id: id,
    name: 'w',
    status: 'approved',
    tags: ['quiet'],
    shared_models: [],
  } as const;
  const idle = { ...worker, tags: [...worker.tags], shared_models: [] };
  await own.claim(idle);
  const before = database.statements();
  for (let claim = 0; claim < 100; claim += 1) expect(await own.claim(idle)).toBeUndefined();
  expect(database.statements()).toBe(before);
  const stopScheduler = await fleet.startScheduler();
  const { run_id } = await fleet.work({ tags: ['quiet'] });
  const task = await waitFor(async () => own.claim(idle), { what: 'the task' });
  expect(task.heartbeat_run_id).toBe(run_id);
  own.close();
  await stopScheduler();
});
