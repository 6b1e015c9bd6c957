/** Plugins of one company that have the same names. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { CheckedManifest } from '@acp/contract';
import { schema, transaction } from '@acp/db';
import { actors, createCompany, testDatabase, type TestDatabase } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import {
  banPlugin,
  claimPlugin,
  createPlugin,
  deletePlugin,
  findPlugin,
  listPluginEvents,
  listPluginTools,
  ownTool,
  pluginEnded,
  type PluginEnd,
  pluginReady,
  type PluginRow,
  requestPluginStart,
  requestPluginStop,
  webhookOwner,
} from './index.ts';

let kit: TestDatabase;
let company_id: string;
/** In the order of their creation. */
let older: string;
let younger: string;

const act = async <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(kit.database, work);

async function install(slug: string): Promise<string> {
  const { id } = await act(async (tx) => createPlugin(tx, actors.system, company_id, { name: slug, slug }));
  await kit.database.db
    .update(schema.plugins)
    .set({ approval_state: 'allowed' })
    .where(eq(schema.plugins.id, id));
  return id;
}

beforeEach(async () => {
  kit = await testDatabase();
  ({ id: company_id } = await createCompany(kit.database.db));
  older = await install('older');
  younger = await install('younger');
});

function manifest(tools: string[], webhooks: string[] = []): CheckedManifest {
  return {
    name: 'x',
    tools: tools.map((tool) => {
      const [namespace = '', name = ''] = tool.split(':');
      return { namespace, name, description: '', input_schema: {} };
    }),
    events: [],
    jobs: [],
    webhooks: webhooks.map((path) => ({ path })),
  };
}

const both = manifest(['n:echo'], ['in']);
const row = async (id: string): Promise<PluginRow> => (await findPlugin(kit.database.db, id))!;
const request = async (id: string) => act(async (tx) => requestPluginStart(tx, actors.system, id));

/** The process of the only plugin that waits for one has sent its manifest. */
async function getReady(sent: CheckedManifest): Promise<void> {
  const claimed = await act(async (tx) => claimPlugin(tx, 'host', 60, 0));
  const hold = { plugin_id: claimed!.id, held_by: 'host', fence: claimed!.fence };
  await act(async (tx) => pluginReady(tx, hold, sent, { sandbox: 'bare', bounds: [] }));
}

async function start(id: string, sent = both): Promise<void> {
  await request(id);
  await getReady(sent);
}

async function end(id: string, how: PluginEnd): Promise<void> {
  const { fence } = await row(id);
  await act(async (tx) => pluginEnded(tx, { plugin_id: id, held_by: 'host', fence }, how, 0));
}

async function stop(id: string): Promise<void> {
  await act(async (tx) => requestPluginStop(tx, actors.system, id));
  await end(id, { how: 'stopped' });
}

/** @returns who is called by each tool, and by the webhook */
async function held() {
  const tools = await listPluginTools(kit.database.db, company_id);
  const hook = await webhookOwner(kit.database.db, company_id, 'in');
  const names = new Map([
    [older, 'older'],
    [younger, 'younger'],
  ]);
  return {
    ...Object.fromEntries(tools.map(({ tool, plugin_id }) => [tool, names.get(plugin_id)])),
    in: hook && names.get(hook.plugin_id),
  };
}

const saysOf = async (id: string) =>
  (await listPluginEvents(kit.database.db, await row(id), {}))
    .filter(({ type }) => type !== 'lifecycle')
    .map(({ message }) => message);

describe('a name that two plugins have', () => {
  it('is that of the first to register it; the other runs, and says so', async () => {
    await start(younger);
    await start(older);
    expect((await row(older)).state).toBe('running');
    expect(await held()).toEqual({ 'n:echo': 'younger', in: 'younger' });
    expect(ownTool(await row(older), 'echo')).toMatchObject({ plugin_id: older, tool: 'n:echo' });
    expect(await saysOf(older)).toEqual([
      'the plugin younger has registered these names before and is called by them: tool n__echo, webhook in',
    ]);
    expect(await saysOf(younger)).toEqual([]);
  });

  it('stays with the first while that is restarted or moves, when it is nobody’s', async () => {
    await start(younger);
    await start(older);
    for (const how of [{ how: 'failed', error: 'boom' }, { how: 'handed_over' }] as const) {
      await end(younger, how);
      expect(await held()).toEqual({ in: undefined });
      await getReady(both);
      expect(await held()).toEqual({ 'n:echo': 'younger', in: 'younger' });
    }
  });

  it('passes to the other when the first is stopped, and back when it is started', async () => {
    await start(younger);
    await start(older);
    await stop(younger);
    expect(await held()).toEqual({ 'n:echo': 'older', in: 'older' });
    expect((await saysOf(older))[0]).toBe(
      'it is called by these names from now on, which the plugin younger gave up: tool n__echo, webhook in',
    );
    await request(younger);
    expect(await held()).toEqual({ in: undefined });
    expect((await saysOf(older))[0]).toContain('the plugin younger has registered these names before');
    await getReady(both);
    expect(await held()).toEqual({ 'n:echo': 'younger', in: 'younger' });
  });

  it.each([
    ['stays down after too many crashes', async () => crash(3)],
    ['is deleted', async () => act(async (tx) => deletePlugin(tx, actors.system, younger))],
    [
      'is banned while it waits for a restart',
      async () => {
        await crash(1);
        await act(async (tx) => banPlugin(tx, actors.system, younger));
      },
    ],
  ])('passes to the other when the first %s', async (_, happens) => {
    await start(younger);
    await start(older);
    await happens();
    expect(await held()).toEqual({ 'n:echo': 'older', in: 'older' });
    expect((await saysOf(older))[0]).toContain('which the plugin younger gave up');
  });

  it('is not taken over by a later manifest of another, however often that is started', async () => {
    await start(older, manifest(['n:other']));
    await start(younger);
    for (let again = 0; again < 2; again += 1) {
      await end(older, { how: 'handed_over' });
      await getReady(manifest(['n:other', 'n:echo'], ['in']));
    }
    expect(await held()).toEqual({ 'n:other': 'older', 'n:echo': 'younger', in: 'younger' });
  });

  it('is lost by a manifest without it', async () => {
    await start(younger);
    await start(older);
    await end(younger, { how: 'handed_over' });
    await getReady(manifest([]));
    expect(await held()).toEqual({ 'n:echo': 'older', in: 'older' });
    await end(younger, { how: 'handed_over' });
    await getReady(both);
    expect(await held()).toEqual({ 'n:echo': 'older', in: 'older' });
  });

  it('is the same where agents write it in the same way', async () => {
    await start(younger, manifest(['a__b:c']));
    await start(older, manifest(['a:b__c']));
    expect(await held()).toEqual({ 'a__b:c': 'younger', in: undefined });
  });

  it('belongs to who ran already when names had no places yet', async () => {
    await start(younger);
    await kit.database.db.update(schema.plugins).set({ names: {} });
    await start(older);
    expect(await held()).toEqual({ 'n:echo': 'younger', in: 'younger' });
  });
});

async function crash(times: number): Promise<void> {
  for (let n = 1; n <= times; n += 1) {
    await end(younger, { how: 'failed', error: 'boom' });
    if (n < times) await getReady(both);
  }
}
