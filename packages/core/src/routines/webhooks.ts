/** The webhook ingress: seven rules in order (specification, Webhook ingress). */
import { schema, type Tx } from '@acp/db';
import { conflict, isUuid, notFound, sha256Hex, unavailable, type Vault } from '@acp/kernel';
import { and, eq, getTableColumns, isNull, sql } from 'drizzle-orm';
import { ofLiveCompany } from '../companies/index.ts';
import { fireForTrigger, type TriggeredRun, triggeredRoutine } from './fire.ts';
import { payloadOf } from './payload.ts';
import { lockRoutine, type TriggerRow } from './rows.ts';
import { secretPlace } from './trigger-store.ts';
import { type SignedRequest, TOLERANCE_SEC, verifySignature } from './verify-signature.ts';

const { companies, routine_triggers, routines } = schema;

interface OpenedWebhook {
  readonly trigger: TriggerRow;
  /** When the sender claims to have signed it, in Unix seconds; null if the signature does not cover a time. */
  readonly stamped_sec: number | null;
}

/**
 * Rules 1 to 4: the trigger named by the URL, once the request has proved that it may fire it. Outside of a transaction, so that a
 * stranger's request locks nothing.
 * @throws notFound for anything unknown, disabled, paused or in the trash; unauthenticated
 */
export async function openWebhook(
  tx: Tx,
  public_id: string,
  request: SignedRequest,
  vault: Vault,
): Promise<OpenedWebhook> {
  const found = isUuid(public_id) ? await findWebhook(tx, public_id) : undefined;
  if (!found) throw notFound();
  const { trigger, now_sec } = found;
  const { id, signing_mode, secret_sealed } = trigger;
  const secret = signing_mode === 'none' ? '' : vault.unseal(secret_sealed ?? '', secretPlace(id));
  verifySignature(signing_mode, secret, request, now_sec);
  return { trigger, stamped_sec: signing_mode === 'hmac_ts' ? Number(request.timestamp) : null };
}

async function findWebhook(
  tx: Tx,
  public_id: string,
): Promise<{ trigger: TriggerRow; now_sec: number } | undefined> {
  const [row] = await tx
    .select({
      trigger: getTableColumns(routine_triggers),
      now_sec: sql`extract(epoch from clock_timestamp())`.mapWith((text) => Math.floor(Number(text))),
    })
    .from(routine_triggers)
    .innerJoin(routines, and(eq(routines.id, routine_triggers.routine_id), isNull(routines.deleted_at)))
    .innerJoin(companies, ofLiveCompany(routines.company_id))
    .where(
      and(
        eq(routine_triggers.public_id, public_id),
        eq(routine_triggers.kind, 'webhook'),
        eq(routine_triggers.enabled, true),
        eq(routines.status, 'active'),
      ),
    );
  return row;
}

/**
 * Rules 5 and 6, in a transaction. The routine's lock serialises concurrent equal bodies: the second one sees the first one's run.
 * A trigger that was disabled between signature check and lock, or is fired with something else since, is still 404.
 * @throws conflict `replay_rejected`, notFound
 */
export async function fireWebhook(
  tx: Tx,
  { trigger, stamped_sec }: OpenedWebhook,
  body: Uint8Array,
): Promise<TriggeredRun> {
  const locked = await lockRoutine(tx, trigger.routine_id);
  if (locked?.routine.status !== 'active') throw notFound();
  const payload_sha256 = sha256Hex(body);
  const { open, replayed } = await stateOf(tx, trigger, payload_sha256, stamped_sec);
  if (!open) throw notFound();
  if (replayed) throw conflict('replay_rejected');
  const actor = triggeredRoutine(locked.routine, trigger);
  const fire = {
    source: 'webhook',
    payload: payloadOf(body),
    trigger_id: trigger.id,
    payload_sha256,
  } as const;
  return fireForTrigger(tx, actor, locked, fire);
}

/**
 * A separate statement after the lock, since it needs a snapshot from that moment. Failed runs may be sent again. A signature with
 * a timestamp ahead of the clock stays valid for twice the tolerance, which may exceed the window, so anything this timestamp may
 * already have fired counts as well.
 */
async function stateOf(
  tx: Tx,
  trigger: TriggerRow,
  payload_sha256: string,
  stamped_sec: number | null,
): Promise<{ open: boolean; replayed: boolean }> {
  const { rows } = await tx.execute<{ open: boolean; replayed: boolean }>(sql`
    select t.enabled and t.public_id = ${trigger.public_id} and t.signing_mode = ${trigger.signing_mode}
        and t.secret_sealed is not distinct from ${trigger.secret_sealed} as open,
      t.replay_window_sec > 0 and exists (
        select from routine_runs r
        where r.trigger_id = t.id and r.payload_sha256 = ${payload_sha256} and r.status <> 'failed'
          and (r.created_at > now() - make_interval(secs => t.replay_window_sec)
            or r.created_at >= to_timestamp(${stamped_sec}::float8 - ${TOLERANCE_SEC + 1}))) as replayed
    from routine_triggers t where t.id = ${trigger.id}`);
  return rows[0] ?? { open: false, replayed: false };
}

/** Rule 7. @throws unavailable if the fire was recorded as failed: a retry is welcome once that is fixed */
export function webhookAnswer({ run, defect }: TriggeredRun): {
  status: 'enqueued' | 'coalesced' | 'skipped';
} {
  const { status } = run;
  if (status === 'enqueued' || status === 'coalesced' || status === 'skipped') return { status };
  throw unavailable('the routine could not be fired', defect);
}
