/** Push configurations: where a client wants to be notified about a task. Credentials are write-only. */
import {
  A2aNamesPush,
  type A2aPushConfig,
  A2aPushConfig as PushConfig,
  createValidator,
} from '@acp/contract';
import { type Dialect, listPushConfigs, putPushConfig, removePushConfig, type TaskWebhook } from '@acp/core';
import { invalid, notFound } from '@acp/kernel';
import { isObject, type Params } from '../json-rpc/messages.ts';
import { type A2aCaller, requireLicense, taskNamed, translated } from './caller.ts';
import { refused } from './protocol.ts';

const readConfig = createValidator(PushConfig, 'params');
const readNames = createValidator(A2aNamesPush, 'params');

/** @throws invalid, RpcError if credentials can't be stored */
export function readPush(config: unknown, { services }: A2aCaller): A2aPushConfig {
  if (!services.vault.available) throw refused('push_unsupported', 'push notifications are not supported');
  return readConfig(config);
}

export async function setPush(caller: A2aCaller, params: Params, dialect: Dialect): Promise<object> {
  requireLicense(caller);
  const nested = isObject(params.pushNotificationConfig);
  const config = readPush(nested ? params.pushNotificationConfig : params, caller);
  const { agent, services } = caller;
  const { id } = await taskNamed(caller, readNames({ taskId: params.taskId }).taskId ?? '');
  const config_id = await services
    .change(agent.company_id, async (tx) =>
      putPushConfig(tx, agent, id, { config, dialect }, services.vault, services.push),
    )
    .catch((error: unknown) => {
      throw translated(error, 'unsupported');
    });
  return write(dialect, id, { config_id, url: config.url });
}

export async function getPush(caller: A2aCaller, params: Params, dialect: Dialect): Promise<object> {
  const { task_id, config_id } = await named(caller, params, dialect);
  const all = await listPushConfigs(caller.tx, caller.agent, task_id);
  const found = config_id === null ? all[0] : all.find((each) => each.config_id === config_id);
  if (found === undefined) throw notFound('there is no such push configuration');
  return write(dialect, task_id, found);
}

export async function listPush(caller: A2aCaller, params: Params, dialect: Dialect): Promise<object> {
  const { task_id } = await named(caller, params, dialect);
  const configs = (await listPushConfigs(caller.tx, caller.agent, task_id)).map((each) =>
    write(dialect, task_id, each),
  );
  return dialect === '1.0' ? { configs, nextPageToken: '' } : configs;
}

export async function deletePush(
  caller: A2aCaller,
  params: Params,
  dialect: Dialect,
): Promise<object | null> {
  requireLicense(caller);
  const { task_id, config_id } = await named(caller, params, dialect);
  if (config_id === null) throw invalid('params: the id of the push configuration is missing');
  await removePushConfig(caller.tx, caller.agent, task_id, config_id);
  return dialect === '1.0' ? {} : null;
}

/** `id` is the task's id in 0.3 and the configuration's in 1.0. */
async function named(caller: A2aCaller, params: Params, dialect: Dialect) {
  const { id, taskId, pushNotificationConfigId } = readNames(params);
  const isFlat = dialect === '1.0' || Boolean(taskId);
  const task = await taskNamed(caller, (isFlat ? taskId : id) ?? '');
  return { task_id: task.id, config_id: (isFlat ? id : null) || pushNotificationConfigId || null };
}

function write(dialect: Dialect, taskId: string, { config_id: id, url }: TaskWebhook): object {
  return dialect === '1.0' ? { taskId, id, url } : { taskId, pushNotificationConfig: { id, url } };
}
