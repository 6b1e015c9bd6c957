import type { MessageChannel } from '@acp/contract';
import { storedNow, type Tx } from '@acp/db';
import { cutText, storableText, type Vault } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { place } from './queue-messages.ts';

/** A message leased to one process until its next attempt is due; after that, any process may claim it. */
export interface ClaimedMessage {
  id: string;
  channel: MessageChannel;
  recipient: string;
  subject: string;
  body: string;
  payload: Record<string, unknown> | null;
}

/** No attempts are made after this time. */
const KEEP_TRYING = sql`interval '1 day'`;
const FIRST_PAUSE_SEC = 15;
const LAST_PAUSE_SEC = 3600;
const ERROR_BYTES = 500;

/** Claims due messages, longest waiting first, for `lease_sec`. Gives up texts that no configured key can open. */
export async function claimMessages(
  tx: Tx,
  vault: Vault,
  limit: number,
  lease_sec: number,
): Promise<ClaimedMessage[]> {
  const { rows } = await tx.execute<
    { [K in keyof ClaimedMessage]: ClaimedMessage[K] } & { body_sealed: string | null }
  >(sql`
    with due as materialized (
      select id from outgoing_messages where next_attempt_at is not null and next_attempt_at <= ${storedNow}
      order by next_attempt_at limit ${limit} for no key update skip locked
    )
    update outgoing_messages m set next_attempt_at = now() + make_interval(secs => ${lease_sec}), attempts = attempts + 1
    from due where m.id = due.id
    returning m.id, m.channel, m.recipient, m.subject, coalesce(m.body, '') as body, m.payload, m.body_sealed`);
  const claimed: ClaimedMessage[] = [];
  for (const { body_sealed, ...message } of rows) {
    if (body_sealed === null) claimed.push(message);
    else if (vault.canUnseal(body_sealed))
      claimed.push({ ...message, body: vault.unseal(body_sealed, place(message.id)) });
    else await recordSent(tx, message.id, { error: 'its text can no longer be opened', hopeless: true });
  }
  return claimed;
}

/** Records an attempt: no error means it was sent; a hopeless one is not retried. */
export async function recordSent(
  tx: Tx,
  id: string,
  { error, hopeless = false }: { error: string | null; hopeless?: boolean },
): Promise<void> {
  const over = sql`(${error === null || hopeless}::boolean or created_at < now() - ${KEEP_TRYING})`;
  const said = error === null ? null : cutText(storableText(error), ERROR_BYTES);
  const pause = sql`least(${LAST_PAUSE_SEC}, ${FIRST_PAUSE_SEC} * 2 ^ least(attempts, 20))`;
  await tx.execute(sql`
    update outgoing_messages set
      status = case when ${over} then ${error === null ? 'sent' : 'failed'} else 'pending' end,
      finished_at = case when ${over} then now() end,
      next_attempt_at = case when ${over} then null else now() + (0.75 + random() / 2) * make_interval(secs => ${pause}) end,
      body = case when ${over} then null else body end,
      body_sealed = case when ${over} then null else body_sealed end,
      payload = case when ${over} then null else payload end,
      error = ${said}
    where id = ${id} and status = 'pending'`);
}
