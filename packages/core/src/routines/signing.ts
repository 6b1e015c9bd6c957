/** A webhook's credentials: its secret, its URL, and what a request must contain (specification, Webhook ingress). */
import type { Actor, NewRoutineTrigger, RoutineTrigger, SigningMode } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, forbidden, newId, newToken, type Vault } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { mayMintKeys } from '../agents/index.ts';
import { answerableUser, type Leaving, type LeftCredential, rowsLostBy } from '../companies/index.ts';
import { assertMaySetOff } from './policy.ts';
import { presentNewTrigger, presentTrigger } from './present.ts';
import type { TriggerRow } from './rows.ts';
import { changeOfTrigger, changeTrigger, lockTrigger, secretPlace } from './trigger-store.ts';

const { routine_triggers } = schema;

/**
 * What fires a routine from outside is a lasting credential that a person answers for (docs/adr/0051): like a key, it is not for a
 * run, whose rights end with it. @throws forbidden
 */
export function assertMayOpen(actor: Actor): void {
  if (!mayMintKeys(actor))
    throw forbidden('a run cannot create webhooks or renew their addresses and secrets');
}

/**
 * Whoever renews a webhook's address or secret is shown it, can fire the routine, and answers for it from then on.
 * @returns the trigger as it is now, locked @throws forbidden, notFound
 */
async function lockToRenew(
  tx: Tx,
  actor: Actor,
  subject: TriggerRow,
): Promise<{ trigger: TriggerRow; created_by_user_id: string | null }> {
  assertMayOpen(actor);
  await assertMaySetOff(tx, actor, subject);
  const created_by_user_id = await answerableUser(tx, actor, subject.company_id, 'member');
  return { trigger: await lockTrigger(tx, subject), created_by_user_id };
}

/** Gives webhooks of someone who may no longer create them a new URL, which that person does not know, or hands them over. */
export async function settleTriggersOf(tx: Tx, leaving: Leaving): Promise<LeftCredential[]> {
  const set =
    leaving.heir === undefined
      ? { public_id: sql`gen_random_uuid()`, created_by_user_id: null }
      : { created_by_user_id: leaving.heir };
  const left = await tx
    .update(routine_triggers)
    .set({ ...set, updated_at: sql`now()` })
    .where(rowsLostBy(leaving, routine_triggers, 'member'))
    .returning();
  return left.map(({ id, company_id, label }) => ({
    kind: 'routine_trigger',
    id,
    company_id,
    label: label ?? 'webhook',
  }));
}

/** Invalidates the old secret immediately. @throws conflict if nothing is signed, unavailable without an encryption key */
export async function rotateSecret(
  tx: Tx,
  actor: Actor,
  subject: TriggerRow,
  vault: Vault,
): Promise<NewRoutineTrigger> {
  const { trigger, created_by_user_id } = await lockToRenew(tx, actor, subject);
  if (trigger.signing_mode === 'none') throw conflict('the trigger is not signed');
  const secret = newToken();
  const row = await changeTrigger(tx, trigger, {
    secret_sealed: vault.seal(secret, secretPlace(trigger.id)),
    created_by_user_id,
  });
  await recordChanges(tx, actor, [changeOfTrigger(row, 'routine_trigger.secret_rotated')]);
  return presentNewTrigger(row, secret);
}

/** Invalidates the old URL immediately; the secret stays. Whoever is shown the new one answers for it. @throws conflict for a schedule, which has no URL */
export async function rotateUrl(tx: Tx, actor: Actor, subject: TriggerRow): Promise<RoutineTrigger> {
  const { trigger, created_by_user_id } = await lockToRenew(tx, actor, subject);
  assertWebhook(trigger);
  const row = await changeTrigger(tx, trigger, {
    public_id: newId(),
    created_by_user_id,
  });
  await recordChanges(tx, actor, [changeOfTrigger(row, 'routine_trigger.url_rotated')]);
  return presentTrigger(row);
}

/**
 * For the routine's page: the only way to set `hmac_ts`. An unsigned trigger gets a secret, shown only in this response; switching
 * between the two signed modes keeps the secret. `none` drops it and renews the address, which was no secret while requests were
 * signed.
 * @throws conflict for a schedule, unavailable without an encryption key
 */
export async function setSigningMode(
  tx: Tx,
  actor: Actor,
  subject: TriggerRow,
  mode: SigningMode,
  vault: Vault,
): Promise<NewRoutineTrigger> {
  const { trigger, created_by_user_id } = await lockToRenew(tx, actor, subject);
  assertWebhook(trigger);
  const fresh = mode !== 'none' && trigger.secret_sealed === null ? newToken() : null;
  const sealed = fresh === null ? undefined : vault.seal(fresh, secretPlace(trigger.id));
  const opened = mode === 'none' && trigger.signing_mode !== 'none';
  const row = await changeTrigger(tx, trigger, {
    signing_mode: mode,
    secret_sealed: mode === 'none' ? null : sealed,
    ...(opened ? { public_id: newId() } : {}),
    ...(fresh !== null || opened ? { created_by_user_id } : {}),
  });
  const details = { from: trigger.signing_mode, to: mode };
  await recordChanges(tx, actor, [changeOfTrigger(row, 'routine_trigger.signing_mode_set', details)]);
  return presentNewTrigger(row, fresh);
}

function assertWebhook({ kind }: TriggerRow): void {
  if (kind !== 'webhook') throw conflict('the trigger is not a webhook');
}
