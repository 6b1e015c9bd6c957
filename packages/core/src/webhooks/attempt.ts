import { schema, type Tx } from '@acp/db';
import { and, eq, sql } from 'drizzle-orm';
import type { ClaimedWebhook } from './claim.ts';
import { switchOff } from './switch-off.ts';

const { webhook_deliveries, webhooks } = schema;

/** Outcome of an attempt. */
export interface Attempt {
  /** Null if there was no response. */
  response_status: number | null;
  /** Null: it was delivered. */
  error: string | null;
}

/** A delivery is attempted for a day (decisions 10.17): first retried after 10 s, then ever more rarely, finally hourly. */
const KEEP_TRYING = sql`interval '1 day'`;
const FIRST_PAUSE_SEC = 10;
const LAST_PAUSE_SEC = 3600;
/** A webhook is disabled if everything fails for this long. */
const GIVE_UP = sql`interval '3 days'`;

/**
 * Records an attempt in a transaction. After a failure the webhook is released until its next attempt.
 * @returns whether the lease is still valid: the next delivery may follow
 */
export async function recordAttempt(
  tx: Tx,
  webhook: ClaimedWebhook,
  delivery_id: string,
  attempt: Attempt,
): Promise<boolean> {
  const { response_status, error } = attempt;
  const set = error === null ? healthy : failing;
  const [held] = await tx
    .update(webhooks)
    .set(set)
    .where(and(eq(webhooks.id, webhook.id), eq(webhooks.lease_id, webhook.lease_id)))
    .returning({ hopeless: sql<boolean>`coalesce(failing_since < now() - ${GIVE_UP}, false)` });
  if (held === undefined) return false;
  const over = error === null ? sql`true` : sql`queued_at < now() - ${KEEP_TRYING}`;
  await tx
    .update(webhook_deliveries)
    .set({
      status: sql`case when ${over} then ${error === null ? 'delivered' : 'failed'} else 'pending' end`,
      finished_at: sql`case when ${over} then now() end`,
      attempts: sql`attempts + 1`,
      response_status,
      error,
    })
    .where(and(eq(webhook_deliveries.id, delivery_id), eq(webhook_deliveries.status, 'pending')));
  if (held.hopeless) await switchOff(tx, webhook, 'every delivery failed for three days');
  return error === null;
}

const healthy = { failures: 0, failing_since: null, last_delivered_at: sql`now()` };

/** Retries have 25 % jitter, so that a recovering receiver is not hit by all of them at the same time. */
const failing = {
  failures: sql`failures + 1`,
  failing_since: sql`coalesce(failing_since, now())`,
  next_attempt_at: sql`now() + (0.75 + random() / 2) * make_interval(secs => least(${LAST_PAUSE_SEC}, ${FIRST_PAUSE_SEC} * 2 ^ least(failures, 20)))`,
  lease_id: null,
  lease_until: null,
};
