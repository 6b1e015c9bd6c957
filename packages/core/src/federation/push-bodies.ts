import type { Tx } from '@acp/db';
import { sha256Hex } from '@acp/kernel';
import { standingAgentKeys } from '../agents/index.ts';
import type { ClaimedWebhook, TaskBodies, TaskBody } from '../webhooks/index.ts';
import { type Dialect, writeSendResult } from './dialect.ts';
import { isVisibleTask, readTasks, type Task } from './read-tasks.ts';
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
    const written = new Map<string, TaskBody>();
    const bodyFor = (task: Task, dialect: Dialect): TaskBody => {
      const things = artifacts.get(task.id) ?? [];
      const told = sha256Hex(
        JSON.stringify([task.state, task.said?.id, things.map((each) => [each.id, each.changed_at])]),
      );
      const write = (shown: typeof things | undefined) =>
        JSON.stringify(
          writeSendResult({ dialect, public_url }, { task, history: undefined, artifacts: shown }),
        );
      const whole = write(things);
      return { body: whole.length > LONGEST_BODY ? write(undefined) : whole, told };
    };
    return new Map(
      webhooks.flatMap(({ id, issue_id, key_id, dialect }) => {
        const task = tasks.get(issue_id ?? '');
        if (task === undefined || (key_id !== null && !standing.has(key_id))) return [];
        // The same for all clients that speak the dialect.
        const same = `${task.id} ${dialect ?? ''}`;
        const body = written.get(same) ?? bodyFor(task, dialect as Dialect);
        written.set(same, body);
        return [[id, body]];
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
