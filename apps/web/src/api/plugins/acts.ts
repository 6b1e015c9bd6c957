import {
  bareWebhookPath,
  type CommandPayload,
  type Plugin,
  type pluginEndpoints,
  type PluginTool,
} from '@acp/contract';
import {
  anyPluginStarting,
  banPlugin,
  type Decision,
  deletePlugin,
  findPlugin,
  isComing,
  listPluginTools,
  ownTool,
  type PluginRow,
  presentPlugin,
  refuseDecision,
  rescindBan,
  requestPluginStop,
  updatePlugin,
  webhookOwner,
} from '@acp/core';
import { notFound, ServiceError } from '@acp/kernel';
import type { Context } from '../../http/handle.ts';

type Rows = typeof pluginEndpoints;
type OnPlugin = Pick<Context<Rows['stop']>, 'actor' | 'company_id' | 'services' | 'subject' | 'tx'>;

/** Allowing is left to a scheduler, whose disk has the file. A forbidden attempt is recorded before the 403. */
export async function decide(c: OnPlugin, decision: Decision): Promise<Plugin> {
  const { actor, services, subject } = c;
  const refusal = await services.transaction(async (tx) => refuseDecision(tx, actor, subject, decision));
  if (refusal !== null) throw refusal;
  if (decision === 'allow') return has(c, 'allow-plugin', { plugin_id: subject.id });
  if (decision === 'rescind-ban')
    return services.transaction(async (tx) => rescindBan(tx, actor, subject.id));
  const banned = await services.transaction(async (tx) => banPlugin(tx, actor, subject.id));
  return ended(c, banned);
}

export async function stop(c: OnPlugin): Promise<Plugin> {
  const { actor, services, subject } = c;
  await services.transaction(async (tx) => requestPluginStop(tx, actor, subject.id));
  return has(c, 'stop-plugin', { plugin_id: subject.id });
}

export async function change(c: Context<Rows['update']>): Promise<Plugin> {
  const { actor, services, subject, body } = c;
  const row = await services.transaction(async (tx) => updatePlugin(tx, actor, subject.id, body));
  return body.enabled === false ? ended(c, row) : presentPlugin(row);
}

export async function remove(c: Context<Rows['delete']>): Promise<void> {
  const { actor, services, subject } = c;
  const row = await services.transaction(async (tx) => {
    if (subject.wanted || subject.held_by !== null) await requestPluginStop(tx, actor, subject.id);
    return subject;
  });
  await ended(c, row);
  await services.transaction(async (tx) => deletePlugin(tx, actor, subject.id));
}

export const start = async (c: OnPlugin, how: 'start' | 'restart'): Promise<Plugin> =>
  has(c, 'start-plugin', { plugin_id: c.subject.id, how });

/** Has a scheduler execute the command. @returns the plugin's state afterwards */
async function has<N extends 'allow-plugin' | 'start-plugin' | 'stop-plugin'>(
  c: OnPlugin,
  name: N,
  command: CommandPayload<N>,
): Promise<Plugin> {
  await c.services.command(name, command, c);
  const row = await findPlugin(c.tx, c.subject.id);
  if (row === undefined) throw notFound();
  return presentPlugin(row);
}

/**
 * Waits for the plugin to stop. If no scheduler answers, either nothing is running or it stops as soon as its scheduler
 * notices: the act takes effect either way.
 */
async function ended(c: OnPlugin, row: PluginRow): Promise<Plugin> {
  if (row.held_by === null) return presentPlugin(row);
  try {
    return await has(c, 'stop-plugin', { plugin_id: row.id });
  } catch (err) {
    if (err instanceof ServiceError && err.kind === 'unavailable') return presentPlugin(row);
    throw err;
  }
}

export async function invokeTool(c: Context<Rows['invokeTool']>) {
  const tools = await listPluginTools(c.tx, c.company_id);
  const found = tools.find(({ tool }) => tool === c.body.tool);
  if (found === undefined) throw await missing(c, 'there is no such tool');
  return invoke(c, found);
}

export async function invokeOwnTool(c: Context<Rows['invokeOwnTool']>) {
  const found = ownTool(c.subject, c.body.tool);
  if (found === undefined) throw isComing(c.subject) ? startsSoon() : notFound('there is no such tool');
  return invoke(c, found);
}

/** While plugins are being taken over their tools are unknown: callers must retry, rather than learn that there is none. */
async function missing(
  { tx, company_id }: Pick<Context<Rows['invokeTool']>, 'tx' | 'company_id'>,
  what: string,
): Promise<ServiceError> {
  return (await anyPluginStarting(tx, company_id)) ? startsSoon() : notFound(what);
}

const COMING_SEC = 2;
const startsSoon = () =>
  new ServiceError('unavailable', 'the plugin is being started', { retry_after_sec: COMING_SEC });

/** The input is validated where the schema is compiled: in the scheduler that runs the plugin. */
async function invoke(
  c: Pick<Context<Rows['invokeTool']>, 'actor' | 'company_id' | 'services' | 'body'>,
  found: PluginTool,
) {
  const { plugin_id, namespace, name } = found;
  const input = c.body.input ?? {};
  return c.services.command('invoke-plugin-tool', { plugin_id, namespace, name, input }, c);
}

/** Headers with the caller's credentials, which are never passed on. */
const PRIVATE = new Set(['authorization', 'proxy-authorization', 'cookie']);

export async function deliverWebhook(c: Context<Rows['deliverWebhook']>) {
  const owner = await webhookOwner(c.tx, c.company_id, bareWebhookPath(c.params.path ?? ''));
  if (owner === undefined) throw await missing(c, 'not found');
  const headers = Object.fromEntries(
    Object.entries(c.request.headers).flatMap(([name, value]) =>
      value === undefined || PRIVATE.has(name) ? [] : [[name, String(value)]],
    ),
  );
  const body_base64 = Buffer.from(c.body).toString('base64');
  return c.services.command('deliver-plugin-webhook', { ...owner, headers, body_base64 }, c);
}
