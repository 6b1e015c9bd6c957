/** Notifications of a peer that a delegated task has changed. A notification only proves its token, so the task is queried. */
import { schema, type Tx } from '@acp/db';
import { constantTimeEqual, isUuid, newToken, notFound, unauthenticated, type Vault } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { ofLiveCompany } from '../companies/index.ts';
import { type SignedRequest, verifySignature } from '../routines/index.ts';
import type { DelegationRow } from './claim-delegations.ts';

const { a2a_delegations, companies } = schema;

const place = (issue_id: string) => `a2a_delegations/${issue_id}`;

/** Creates the token that the peer must send with its notifications. */
export async function openNotifications(
  tx: Tx,
  { issue_id }: Pick<DelegationRow, 'issue_id'>,
  vault: Vault,
): Promise<string> {
  const token = newToken();
  await tx
    .update(a2a_delegations)
    .set({ push_token_sealed: vault.seal(token, place(issue_id)) })
    .where(eq(a2a_delegations.issue_id, issue_id));
  return token;
}

/** Removes the token: the peer does not send notifications. */
export async function closeNotifications(
  tx: Tx,
  { issue_id }: Pick<DelegationRow, 'issue_id'>,
): Promise<void> {
  await tx
    .update(a2a_delegations)
    .set({ push_token_sealed: null })
    .where(eq(a2a_delegations.issue_id, issue_id));
}

/** A notification as received. */
export interface Notification extends SignedRequest {
  /** `X-A2A-Notification-Token`. */
  token: string | undefined;
}

/**
 * Has the task queried immediately, or as soon as the current step is over. A replayed notification causes one more query and
 * nothing else; many in a row cause one query every five seconds. One that arrives after the task's end was learnt otherwise has
 * said nothing new: refused, the peer would repeat it for a day.
 * @throws notFound if no notifications of such a task are expected, unauthenticated
 */
export async function takeNotification(
  tx: Tx,
  issue_id: string,
  { token, ...signed }: Notification,
  vault: Vault,
): Promise<void> {
  if (!isUuid(issue_id)) throw notFound();
  const [row] = await tx
    .select({
      sealed: a2a_delegations.push_token_sealed,
      now_sec: sql`extract(epoch from clock_timestamp())`.mapWith((text) => Math.floor(Number(text))),
    })
    .from(a2a_delegations)
    .innerJoin(companies, ofLiveCompany(a2a_delegations.company_id))
    .where(eq(a2a_delegations.issue_id, issue_id));
  if (row === undefined || row.sealed === null) throw notFound();
  const known = vault.unseal(row.sealed, place(issue_id));
  if (token === undefined || !constantTimeEqual(token, known))
    throw unauthenticated('wrong notification token');
  // Services like this one sign their notifications, which binds the token to a point in time.
  if (signed.signature !== undefined) verifySignature('hmac_ts', known, signed, row.now_sec);
  await tx.execute(sql`
    update a2a_delegations set notified_at = now(), next_attempt_at = case
      when claimed_at is not null then next_attempt_at
      when notified_at > now() - interval '5 seconds' then least(next_attempt_at, now() + interval '5 seconds')
      else now() end
    where issue_id = ${issue_id} and next_attempt_at is not null`);
}
