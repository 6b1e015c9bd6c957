/** Steps of delegations: claimed by one scheduler at a time, and without effect once the claim or the peer is not what it was. */
import { schema, storedNow, type Tx } from '@acp/db';
import { eq, sql } from 'drizzle-orm';

const { a2a_delegations } = schema;

export type DelegationRow = typeof a2a_delegations.$inferSelect;

/** Maximum number of calls in one step, and time for the rest of it: after that, the step of a crashed process is retried. */
const [MOST_CALLS, MARGIN_SEC] = [2, 30];

/** Condition: the peer is enabled and its company is not in the trash. */
const isLive = sql`exists (select from a2a_peers p join companies c on c.id = p.company_id and c.deleted_at is null
  where p.id = a2a_delegations.peer_id and p.enabled)`;
/** Delay for a delegation that can't proceed now. Enabling its peer ends the delay. */
const RESTING = sql`interval '1 hour'`;

/** @param except companies that have reached their limit of concurrent steps */
export async function claimDelegations(
  tx: Tx,
  limit: number,
  except: readonly string[] = [],
): Promise<DelegationRow[]> {
  const rows = await tx
    .update(a2a_delegations)
    .set({
      next_attempt_at: sql`now() + case when ${isLive}
        then make_interval(secs => ${MARGIN_SEC} + ${MOST_CALLS} * (
          select p.timeout_seconds from a2a_peers p where p.id = a2a_delegations.peer_id))
        else ${RESTING} end`,
      claimed_at: sql`case when ${isLive} then now() end`,
    })
    .where(
      sql`issue_id in (
        select d.issue_id from a2a_delegations d
        where d.next_attempt_at <= ${storedNow} and d.company_id <> all(${sql.param(except)}::uuid[])
        order by d.next_attempt_at limit ${limit} for no key update of d skip locked)`,
    )
    .returning();
  return rows.filter(({ claimed_at }) => claimed_at !== null);
}

/** What a step finds whose calls may have taken minutes. */
interface Held extends Record<string, unknown> {
  live: boolean;
  /** The peer's address now. */
  url: string;
}

/** Locks the delegation for the effects of a step. Undefined if its claim has passed to another, or the peer was deleted. */
export async function lockClaimed(
  tx: Tx,
  { issue_id, claimed_at }: DelegationRow,
): Promise<Held | undefined> {
  if (claimed_at === null) return undefined;
  const { rows } = await tx.execute<Held>(sql`
    select ${isLive} as live, (select p.url from a2a_peers p where p.id = a2a_delegations.peer_id) as url
    from a2a_delegations where issue_id = ${issue_id} and claimed_at = ${claimed_at.toISOString()}::timestamptz
    for update`);
  return rows[0];
}

/** The peer has been switched off, or moved elsewhere: the next step decides. @param task what the peer has called it */
export async function putOff(
  tx: Tx,
  { issue_id }: DelegationRow,
  { live }: Held,
  task: { task_id?: string; context_id?: string | null } = {},
): Promise<void> {
  await tx
    .update(a2a_delegations)
    .set({
      remote_task_id: task.task_id,
      context_id: task.context_id,
      claimed_at: null,
      next_attempt_at: live ? sql`now()` : sql`now() + ${RESTING}`,
    })
    .where(eq(a2a_delegations.issue_id, issue_id));
}

/** The key is only for the peer's current address: what was given to an earlier one can't be followed with it. */
export const isSamePlace = (
  { url }: { url: string },
  { remote_url }: Pick<DelegationRow, 'remote_url'>,
): boolean => new URL(remote_url).origin === new URL(url).origin;

/** Resumes the peer's delegations immediately. */
export async function resumeDelegations(tx: Tx, peer_id: string): Promise<void> {
  await tx
    .update(a2a_delegations)
    .set({ next_attempt_at: sql`now()` })
    .where(sql`peer_id = ${peer_id} and next_attempt_at is not null and claimed_at is null`);
}
