import { type ChannelDecision, channelDecisions, type UserActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { isUuid, ServiceError } from '@acp/kernel';
import { and, eq } from 'drizzle-orm';
import { approve, findApproval, reject } from '../approvals/index.ts';
import { requireEntitlement } from '../settings/index.ts';
import type { ChannelRow } from './present.ts';

const { channel_outbox } = schema;

/** The value of a button: only the ID of its message, and the decision. */
export const buttonValue = (outgoing_id: string, decision: ChannelDecision): string =>
  `${outgoing_id}:${decision}`;

/**
 * Decides an approval as the person it was shown to, with that person's rights, and only if it has not changed since.
 * Pressing again has no effect. @returns the text shown to the person
 */
export async function pressButton(
  tx: Tx,
  channel: Pick<ChannelRow, 'id' | 'company_id'>,
  actor: UserActor,
  value: string,
): Promise<string> {
  const [id = '', wanted = ''] = value.split(':');
  const decision = channelDecisions.find((each) => each === wanted);
  const shown = decision && isUuid(id) ? await shownApproval(tx, channel.id, id) : undefined;
  if (shown?.approval_id == null || shown.approval_version === null || shown.user_id !== actor.user_id)
    return 'This can’t be decided here any more.';
  const approval = await findApproval(tx, shown.approval_id);
  if (approval?.company_id !== channel.company_id) return 'This is gone.';
  if (actor.must_enrol) return 'A second factor is required of you: sign in and set one up first.';
  if (!['member', 'admin'].includes(actor.roles[channel.company_id] ?? '')) return 'You may not decide this.';
  if (approval.status !== 'pending') return `It is ${approval.status.replaceAll('_', ' ')} already.`;
  const resolve = decision === 'approve' ? approve : reject;
  const version = { updated_at: shown.approval_version };
  try {
    await tx.transaction(async (inner) => {
      await requireEntitlement(inner);
      await resolve(inner, actor, approval, version);
    });
  } catch (error) {
    if (error instanceof ServiceError) return `${error.message}.`;
    throw error;
  }
  return decision === 'approve' ? 'Approved.' : 'Rejected.';
}

async function shownApproval(tx: Tx, channel_id: string, id: string) {
  const [row] = await tx
    .select()
    .from(channel_outbox)
    .where(and(eq(channel_outbox.id, id), eq(channel_outbox.channel_id, channel_id)));
  return row;
}
