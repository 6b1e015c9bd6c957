/** Runs of a plugin's jobs whose process, scheduler or connection was lost. */
import { beforeEach, expect, it } from '@jest/globals';
import { schema, transaction } from '@acp/db';
import { actors, createCompany, testDatabase, type TestDatabase } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import {
  claimPlugin,
  createPlugin,
  endJobRun,
  findPlugin,
  pluginJobs,
  pluginReady,
  requestPluginStart,
  requestPluginStop,
  settleUnowned,
  takeDueJobs,
} from './index.ts';

const LOST = 'the process ended before it answered';

let kit: TestDatabase;
let id: string;

const act = async <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(kit.database, work);

beforeEach(async () => {
  kit = await testDatabase();
  const { id: company_id } = await createCompany(kit.database.db);
  ({ id } = await act(async (tx) =>
    createPlugin(tx, actors.system, company_id, { name: 'Nightly', slug: 'nightly' }),
  ));
  await set({ approval_state: 'allowed' });
  await act(async (tx) => requestPluginStart(tx, actors.system, id));
});

const set = async (values: Partial<typeof schema.plugins.$inferInsert>) =>
  kit.database.db.update(schema.plugins).set(values).where(eq(schema.plugins.id, id));

async function getReady(held_by: string): Promise<void> {
  const claimed = await act(async (tx) => claimPlugin(tx, held_by, 60, 0));
  const hold = { plugin_id: claimed!.id, held_by, fence: claimed!.fence };
  const jobs = [{ name: 'tick', schedule: '0 3 * * *' }];
  const manifest = { name: 'x', tools: [], events: [], jobs, webhooks: [] };
  await act(async (tx) => pluginReady(tx, hold, manifest, { sandbox: 'bare', bounds: [] }));
}

async function takeDue(held_by: string, in_progress: string[] = []) {
  await kit.database.db.update(schema.plugin_jobs).set({ next_run_at: new Date(0) });
  return act(async (tx) => takeDueJobs(tx, held_by, in_progress));
}

const runs = async () => {
  const plugin = (await findPlugin(kit.database.db, id))!;
  const [job] = await pluginJobs(kit.database.db, plugin);
  return job!.runs.map(({ status, error }) => ({ status, error }));
};

const lose = async () => set({ lease_until: new Date(0) });

it('a run of a scheduler that was killed has failed as soon as another one has the plugin', async () => {
  await getReady('first');
  const [taken] = await takeDue('first');
  await lose();
  await act(async (tx) => claimPlugin(tx, 'second', 60, 0));
  expect(await runs()).toEqual([{ status: 'failed', error: LOST }]);
  // The former one was frozen, and has its answer only now.
  await endJobRun(kit.database.db, taken!.run_id, { status: 'succeeded', result: null });
  expect(await runs()).toEqual([{ status: 'failed', error: LOST }]);
});

it('a run of a scheduler that was killed has failed when the plugin is stopped, too', async () => {
  await getReady('first');
  await takeDue('first');
  await lose();
  await act(async (tx) => requestPluginStop(tx, actors.system, id));
  await act(async (tx) => settleUnowned(tx, actors.system, id));
  expect(await runs()).toEqual([{ status: 'failed', error: LOST }]);
});

it('a job waits for its own run only: one that its scheduler knows nothing of has failed', async () => {
  await getReady('first');
  const [taken] = await takeDue('first');
  expect(await takeDue('first', [taken!.run_id])).toEqual([]);
  expect(await runs()).toEqual([{ status: 'running', error: null }]);
  // The answer to the commit that began it was lost.
  expect(await takeDue('first')).toMatchObject([{ plugin_id: id, name: 'tick' }]);
  expect(await runs()).toEqual([
    { status: 'running', error: null },
    { status: 'failed', error: LOST },
  ]);
});
