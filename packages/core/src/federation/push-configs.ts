import { type A2aPushConfig, type AgentActor, createValidator, Nullable } from '@acp/contract';
import type { Tx } from '@acp/db';
import { invalid, notFound, type Vault } from '@acp/kernel';
import { Type, type Static } from 'typebox';
import {
  deleteTaskWebhook,
  listTaskWebhooks,
  putTaskWebhook,
  type TaskWebhook,
  type WebhookRules,
} from '../webhooks/index.ts';
import { clientActor } from './client.ts';
import type { Dialect } from './dialect.ts';
import { readTask } from './read-tasks.ts';

/** The client's own values, sent with each notification. */
const TaskSecret = Type.Object({ token: Nullable(Type.String()), authorization: Nullable(Type.String()) });
const readSecret = createValidator(TaskSecret, 'secret');

/** @param text the secret sealed by `putPushConfig` */
export const taskSecret = (text: string): Static<typeof TaskSecret> => readSecret(JSON.parse(text));

/**
 * Notifies the client of changes of the task from now on; replaces an earlier configuration of the same name.
 * @returns its name: the task's id if the client gave none
 * @throws notFound, invalid for a forbidden URL, unavailable without an encryption key, conflict at 10
 */
export async function putPushConfig(
  tx: Tx,
  agent: AgentActor,
  task_id: string,
  { config, dialect }: { config: A2aPushConfig; dialect: Dialect },
  vault: Vault,
  rules: WebhookRules,
): Promise<string> {
  clientActor(agent);
  if ((await readTask(tx, agent.agent_id, task_id)) === undefined) throw notFound();
  const { token, authentication, url } = config;
  const scheme = authentication?.scheme || authentication?.schemes?.[0];
  const authorization = authentication?.credentials
    ? `${scheme ?? 'Bearer'} ${authentication.credentials}`
    : null;
  for (const value of [token, authorization])
    if (value && !/^[\x20-\x7e]+$/.test(value))
      throw invalid('token and credentials go into headers: printable ASCII only');
  const config_id = config.id || task_id;
  const secret = JSON.stringify({ token: token || null, authorization });
  const task = { id: task_id, company_id: agent.company_id };
  const { key_id } = agent;
  await putTaskWebhook(tx, task, { config_id, url, dialect, key_id, secret }, vault, rules);
  return config_id;
}

/** @throws forbidden for a run's key: where its client is told is none of the agent's business */
export async function listPushConfigs(tx: Tx, agent: AgentActor, task_id: string): Promise<TaskWebhook[]> {
  clientActor(agent);
  return listTaskWebhooks(tx, task_id);
}

/** @throws forbidden for a run's key, with which an agent would silence itself */
export async function removePushConfig(
  tx: Tx,
  agent: AgentActor,
  task_id: string,
  config_id: string,
): Promise<void> {
  clientActor(agent);
  await deleteTaskWebhook(tx, task_id, config_id);
}
