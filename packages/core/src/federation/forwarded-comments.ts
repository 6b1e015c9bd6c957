/**
 * What people and agents write on a delegated issue, as it is forwarded to the peer: each comment once. `forwarded_at` lies before
 * all open transactions, like a reader's mark (docs/adr/0059), and `forwarded` has what was forwarded of what is later.
 */
import { schema, type Tx } from '@acp/db';
import { eq, type SQL, sql } from 'drizzle-orm';
import { settledInstant } from '../issues/index.ts';
import type { DelegationRow } from './claim-delegations.ts';

const { a2a_delegations } = schema;

/** Maximum length of a message, in characters, to which a single comment is cut: peers limit their requests' size, this service's own to 1 MB. */
const LONGEST = 100_000;

/** Comments that one message forwards. */
export interface ForwardedComments {
  text: string;
  message_id: string;
  /** All comments up to this instant have now been forwarded. */
  up_to: Date;
  /** Those of this message and of former ones. */
  ids: string[];
}

/**
 * What has been written since the last forwarding; null if nothing. A message that may have arrived, its answer having been lost, is
 * sent again as it was: the peer knows it by its id, and hears nothing twice.
 */
export async function commentsToForward(
  tx: Tx,
  delegation: DelegationRow,
): Promise<ForwardedComments | null> {
  const { issue_id, forwarding } = delegation;
  const again = forwarding.length === 0 ? null : await nextMessage(tx, delegation, forwarding);
  // Earlier comments than its last may have been committed since.
  if (again !== null) return { ...again, up_to: delegation.forwarded_at };
  const message = await nextMessage(tx, delegation, null);
  if (message !== null)
    await tx
      .update(a2a_delegations)
      .set({ forwarding: message.sent })
      .where(eq(a2a_delegations.issue_id, issue_id));
  return message;
}

/** @param only ids of its comments; null: whatever has been written */
async function nextMessage(
  tx: Tx,
  { issue_id, forwarded_at, forwarded }: DelegationRow,
  only: readonly string[] | null,
): Promise<(ForwardedComments & { sent: string[] }) | null> {
  // First: what is committed after it is later.
  const settled = await settledInstant(tx);
  const { rows } = await tx.execute<Forwarded>(sql`
    select id, left(body_markdown, ${LONGEST}) as text, length(body_markdown) as length,
      -- The last of this message may have others beside it, of the same moment.
      least(${settled}, created_at - interval '1 millisecond') as settled_before
    from comments c
    where issue_id = ${issue_id} and created_at > ${forwarded_at.toISOString()}::timestamptz
      and id <> all(${sql.param(forwarded)}::uuid[])
      ${only === null ? sql`` : sql`and id = any(${sql.param(only)}::uuid[])`}
      -- Comments by the peer or the service have no author; those of integrations are recognized by their activity.
      and (author_agent_id is not null or author_user_id is not null or exists (
        select from activity a where a.company_id = c.company_id and a.entity_type = 'comment'
          and a.entity_id = c.id and a.created_at >= c.created_at - interval '1 day' and a.actor_type = 'board_user'))
    order by created_at, id limit 20`);
  // What does not fit is left to further messages.
  const sent: Forwarded[] = [];
  let room = LONGEST;
  for (const row of rows) {
    room -= row.text.length;
    if (room < 0 && sent.length > 0) break;
    sent.push(row);
  }
  const last = sent.at(-1);
  if (last === undefined) return null;
  const ids = sent.map(({ id }) => id);
  return {
    text: sent.map(inFull).join('\n\n'),
    message_id: last.id,
    sent: ids,
    up_to: new Date(Math.max(forwarded_at.getTime(), Date.parse(last.settled_before))),
    ids: [...forwarded, ...ids],
  };
}

interface Forwarded extends Record<string, unknown> {
  id: string;
  text: string;
  length: number;
  settled_before: string;
}

const inFull = ({ text, length }: Forwarded): string =>
  length <= LONGEST
    ? text
    : `${text}\n\n(Cut: this comment has ${length} characters, of which these are ${LONGEST}.)`;

/** Columns of a delegation once these were forwarded. */
export const forwardedColumns = ({
  up_to,
  ids,
}: ForwardedComments): { forwarded_at: Date; forwarded: SQL; forwarding: string[] } => ({
  forwarding: [],
  forwarded_at: up_to,
  forwarded: sql`array(select c.id from comments c
    where c.id = any(${sql.param(ids)}::uuid[]) and c.created_at > ${up_to.toISOString()}::timestamptz)`,
});
