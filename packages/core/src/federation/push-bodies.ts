import type { Tx } from '@acp/db';
import { sha256Hex } from '@acp/kernel';
import { standingAgentKeys } from '../agents/index.ts';
import type { ClaimedWebhook, TaskBodies } from '../webhooks/index.ts';
import { type Dialect, writeSendResult } from './dialect.ts';
import { isVisibleTask, readTasks } from './read-tasks.ts';
import { taskArtifacts } from './task-artifacts.ts';

/** Maximum length of a notification: larger tasks are sent without their artifacts, which the client can fetch. */
const LONGEST_BODY = 256_000;

/**
 * Notifications to clients about their tasks: the current task without its history. None for a client whose key has ended, nor
 * about an agent that is no longer available to clients: neither could ask for the task itself.
 */
export const pushBodies =
  (public_url: string): TaskBodies =>
  async (tx, webhooks) => {
    const ids = [...new Set(webhooks.flatMap(({ issue_id }) => issue_id ?? []))];
    const tasks = new Map((await readTasks(tx, ids)).map((task) => [task.id, task]));
    const standing = await standingAgentKeys(
      tx,
      webhooks.flatMap(({ key_id }) => key_id ?? []),
    );
    const artifacts = await taskArtifacts(tx, [...tasks.keys()]);
    return new Map(
      webhooks.flatMap(({ id, issue_id, key_id, dialect }) => {
        const task = tasks.get(issue_id ?? '');
        if (task === undefined || (key_id !== null && !standing.has(key_id))) return [];
        const writer = { dialect: dialect as Dialect, public_url };
        const things = artifacts.get(task.id) ?? [];
        const told = sha256Hex(
          JSON.stringify([task.state, task.said?.id, things.map((each) => [each.id, each.changed_at])]),
        );
        const write = (shown: typeof things | undefined) =>
          JSON.stringify(writeSendResult(writer, { task, history: undefined, artifacts: shown }));
        const whole = write(things);
        return [[id, { body: whole.length > LONGEST_BODY ? write(undefined) : whole, told }]];
      }),
    );
  };

/** Checked again before each attempt, as what was queued earlier may be retried for a day. */
export async function mayBeNotified(
  tx: Tx,
  { issue_id, key_id }: Pick<ClaimedWebhook, 'issue_id' | 'key_id'>,
): Promise<boolean> {
  if (issue_id === null || !(await isVisibleTask(tx, issue_id))) return false;
  return key_id === null || (await standingAgentKeys(tx, [key_id])).has(key_id);
}
