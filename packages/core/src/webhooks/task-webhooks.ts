/** Webhooks for a single task: a client of the agent-to-agent protocol is notified until the task is over. */
import { lockByName, schema, type Tx } from '@acp/db';
import { conflict, newId, type Vault } from '@acp/kernel';
import { and, asc, eq, inArray, sql } from 'drizzle-orm';
import { assertAllowedUrl } from '../providers/index.ts';
import type { WebhookRow } from './present.ts';
import { listenFromNow, place, type WebhookRules } from './webhooks.ts';

const { webhooks } = schema;

/** The readable part, without credentials. */
export type TaskWebhook = Pick<WebhookRow, 'url'> & { config_id: string };

interface TaskWebhookInput {
  config_id: string;
  url: string;
  dialect: string;
  /** The client's key, with which it ends. */
  key_id: string | null;
  /** What the sender needs, as text; sealed at rest. */
  secret: string;
}

const MAX_PER_TASK = 10;

/**
 * Creates it, or replaces the one with that name. Changes are sent from now on.
 * @throws invalid for a forbidden URL, unavailable without an encryption key, conflict above 10
 */
export async function putTaskWebhook(
  tx: Tx,
  task: { id: string; company_id: string },
  { config_id, url, dialect, key_id, secret }: TaskWebhookInput,
  vault: Vault,
  rules: WebhookRules,
): Promise<void> {
  assertAllowedUrl(url, { ...rules, variable: 'SERVICE_A2A_PUSH_ALLOWED_HOSTS' });
  const from_seq = await listenFromNow(tx);
  await lockByName(tx, `push configurations of ${task.id}`);
  const known = await tx
    .select({ id: webhooks.id, config_id: webhooks.config_id })
    .from(webhooks)
    .where(eq(webhooks.issue_id, task.id));
  const id = known.find((each) => each.config_id === config_id)?.id ?? newId();
  if (known.length >= MAX_PER_TASK && known.every((each) => each.id !== id))
    throw conflict(`a task has ${MAX_PER_TASK} push configurations at most`);
  const values = { url, dialect, key_id, secret_sealed: vault.seal(secret, place(id)), from_seq, told: null };
  await tx
    .insert(webhooks)
    .values({ id, company_id: task.company_id, issue_id: task.id, config_id, events: [], ...values })
    .onConflictDoUpdate({
      target: webhooks.id,
      set: {
        ...values,
        enabled: true,
        disabled_reason: null,
        failures: 0,
        failing_since: null,
        lease_id: null,
        lease_until: null,
        updated_at: sql`now()`,
      },
    });
}

/** The task's webhooks, ordered by name. */
export async function listTaskWebhooks(tx: Tx, issue_id: string): Promise<TaskWebhook[]> {
  return tx
    .select({ config_id: sql<string>`${webhooks.config_id}`, url: webhooks.url })
    .from(webhooks)
    .where(eq(webhooks.issue_id, issue_id))
    .orderBy(asc(webhooks.config_id));
}

/** Succeeds if it is already gone. */
export async function deleteTaskWebhook(tx: Tx, issue_id: string, config_id: string): Promise<void> {
  await tx.delete(webhooks).where(and(eq(webhooks.issue_id, issue_id), eq(webhooks.config_id, config_id)));
}

/** Deletes those of tasks that ended more than `days` ago. @returns how many, at most `limit` */
export async function deleteTaskWebhooksOfEnded(tx: Tx, days: number, limit: number): Promise<number> {
  const over = sql`(
    select w.id from webhooks w join issues i on i.id = w.issue_id
    where i.status in ('done', 'cancelled') and i.updated_at < now() - make_interval(days => ${days})
    limit ${limit})`;
  const result = await tx.delete(webhooks).where(inArray(webhooks.id, over));
  return result.rowCount ?? 0;
}
