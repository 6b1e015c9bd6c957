import { setTimeout as delay } from 'node:timers/promises';
import { Actor, type CommandCatalogue, createValidator } from '@acp/contract';
import {
  allowPlugin,
  assertAllowable,
  assertAllowlisted,
  assertApproved,
  assertMayStart,
  findPlugin,
  HASH_CHANGED,
  keyLedger,
  type PluginRow,
  revertApproval,
  settleUnowned,
  systemActor,
  requestPluginStop,
  requestPluginStart,
} from '@acp/core';
import { transaction } from '@acp/db';
import { conflict, notFound, said, unavailable } from '@acp/kernel';
import type { CommandHandlers } from '@acp/queue';
import { FileStore } from '@acp/storage';
import type { SchedulerContext } from '../context.ts';
import { copyBinary, hashBinary } from '../plugins/binary.ts';
import type { PluginRunner } from '../plugins/plugin-runner.ts';

type Handlers = CommandHandlers<CommandCatalogue>;
type PluginCommand =
  | 'allow-plugin'
  | 'start-plugin'
  | 'stop-plugin'
  | 'invoke-plugin-tool'
  | 'deliver-plugin-webhook';

const actorOf = createValidator(Actor, 'actor');
/** Interval for polling the row of a plugin that starts or stops on some scheduler. */
const LOOK_MS = 100;

/** Plugin operations that requests delegate to a scheduler. The requester has already checked the rights. */
export function pluginCommandHandlers(context: SchedulerContext): Pick<Handlers, PluginCommand> {
  const { database } = context;
  return {
    'allow-plugin': async ({ plugin_id }, { actor }) => {
      const files = new FileStore({ ...context, ledger: keyLedger(database.db) });
      const path = assertAllowable(await existing(context, plugin_id));
      const by = actorOf(actor);
      await copyBinary(files, plugin_id, path, async (copy) =>
        transaction(database, async (tx) => allowPlugin(tx, by, plugin_id, copy, path)),
      );
      return { plugin_id };
    },
    'start-plugin': async ({ plugin_id, how }, { actor, signal }) => {
      const plugin = await existing(context, plugin_id);
      await assertStartable(context, plugin, how);
      const by = actorOf(actor);
      if (plugin.held_by !== null && how === 'restart') {
        await transaction(database, async (tx) => requestPluginStop(tx, by, plugin_id));
        await untilEnded(context, plugin_id, signal);
      }
      const fence = await transaction(database, async (tx) => requestPluginStart(tx, by, plugin_id));
      await untilStarted(context, plugin_id, fence, signal);
      return { plugin_id };
    },
    'stop-plugin': async ({ plugin_id }, { signal }) => {
      await untilEnded(context, plugin_id, signal);
      return { plugin_id };
    },
    'invoke-plugin-tool': async ({ plugin_id, namespace, name, input }, { signal }) => {
      const runner = await runnerOf(context, plugin_id);
      const result = await runner.invoke({ namespace, name, input }, signal);
      return { plugin_id, tool: `${namespace}:${name}`, result };
    },
    'deliver-plugin-webhook': async ({ plugin_id, path, headers, body_base64 }) => {
      const body = Buffer.from(body_base64, 'base64');
      const runner = await runnerOf(context, plugin_id);
      await runner.webhook(path, headers, body);
      return { plugin_id, status: 'delivered' };
    },
  };
}

async function existing({ database }: SchedulerContext, id: string): Promise<PluginRow> {
  const row = await findPlugin(database.db, id);
  if (row === undefined) throw notFound();
  return row;
}

/** @throws LeaseLost if it does not run here; notFound if it was deleted, as there is no next owner to wait for then */
async function runnerOf(context: SchedulerContext, id: string): Promise<PluginRunner> {
  try {
    return context.plugins.runner(id);
  } catch (error) {
    await existing(context, id);
    throw error;
  }
}

/** Checks the start rules, in their order (specification, Start rules). @throws conflict */
async function assertStartable(
  { database, config }: SchedulerContext,
  plugin: PluginRow,
  how: 'start' | 'restart',
): Promise<void> {
  assertApproved(plugin);
  const path = assertAllowable(plugin);
  const actual = await hashBinary(path);
  if (actual !== plugin.approved_binary_hash) {
    await transaction(database, async (tx) => revertApproval(tx, plugin.id, actual));
    throw conflict(HASH_CHANGED);
  }
  assertAllowlisted(path, config.plugin_binary_allowlist);
  assertMayStart(plugin, how);
}

/** @throws conflict with the reason if the plugin does not start */
async function untilStarted(
  context: SchedulerContext,
  id: string,
  fence: number,
  signal: AbortSignal,
): Promise<PluginRow> {
  for (;;) {
    const row = await existing(context, id);
    if (row.fence > fence && row.state === 'running') return row;
    if (!row.wanted) {
      assertApproved(row);
      throw conflict(row.error === null ? 'plugin was stopped' : said`plugin failed to start: ${row.error}`);
    }
    await pause(signal);
  }
}

async function untilEnded(context: SchedulerContext, id: string, signal: AbortSignal): Promise<PluginRow> {
  for (;;) {
    const row = await existing(context, id);
    const settled = await transaction(context.database, async (tx) =>
      row.wanted ? row : settleUnowned(tx, systemActor('plugins'), id),
    );
    if (settled.wanted || settled.held_by === null) return settled;
    await pause(signal);
  }
}

async function pause(signal: AbortSignal): Promise<void> {
  await delay(LOOK_MS, undefined, { signal }).catch(() => {
    throw unavailable('no scheduler answered in time');
  });
}
