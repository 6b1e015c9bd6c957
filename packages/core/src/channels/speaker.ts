import type { UserActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { cutText, storableText } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { pairedUser, pairIdentity } from '../identity/index.ts';
import { codeHash } from './people.ts';
import { changeOfChannel, type ChannelRow } from './present.ts';

const { channel_strangers } = schema;

/** Maximum number of attempts of one identity within `TRIES_MINUTES`. */
const MOST_TRIES = 5;
const TRIES_MINUTES = 10;
/** Maximum number of strangers per channel and day; any more get no answer. */
const MOST_STRANGERS = 10_000;

/** The speaker, with rights in this company only; undefined if not paired, not active or not a member. */
export async function speakerOf(
  tx: Tx,
  channel: Pick<ChannelRow, 'id' | 'company_id'>,
  external_id: string,
): Promise<UserActor | undefined> {
  return pairedUser(tx, { channel_id: channel.id, company_id: channel.company_id, external_id });
}

/** Whether a stranger should be told what the bot is, which happens once. */
export async function isNewStranger(tx: Tx, channel_id: string, external_id: string): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    insert into channel_strangers (channel_id, external_id)
    select ${channel_id}::uuid, ${external_id}
    where (select count(*) from (select from channel_strangers where channel_id = ${channel_id} limit ${MOST_STRANGERS}) s)
      < ${MOST_STRANGERS}
    on conflict do nothing returning external_id`);
  return rows.length > 0;
}

type Pairing =
  | { how: 'paired'; user: UserActor }
  | { how: 'wrong' }
  /** The code was not checked; @param first_time whether the sender has not been told yet */
  | { how: 'too_many'; first_time: boolean };

/**
 * Pairs the sender of the code with the user it was made for. A correct code is valid once, and only while a session from
 * before its creation exists: signing out everywhere revokes it. After five tries no more are accepted.
 */
export async function pairByCode(
  tx: Tx,
  channel: ChannelRow,
  person: { id: string; name: string },
  code: string,
): Promise<Pairing> {
  const tries = await countTry(tx, channel.id, person.id);
  if (tries === undefined || tries > MOST_TRIES)
    return { how: 'too_many', first_time: tries === MOST_TRIES + 1 };
  const { rows } = await tx.execute<{ user_id: string }>(sql`
    delete from channel_pairing_codes p using users u, memberships m
    where p.channel_id = ${channel.id} and p.code_hash = ${codeHash(code)} and p.expires_at > now()
      and u.id = p.user_id and u.is_active and m.user_id = u.id and m.company_id = ${channel.company_id}
      and exists (select from sessions s where s.user_id = u.id and s.created_at <= p.created_at)
    returning p.user_id`);
  const [made] = rows;
  if (made === undefined) return { how: 'wrong' };
  await pairIdentity(tx, {
    channel_id: channel.id,
    company_id: channel.company_id,
    channel: channel.kind as 'slack' | 'telegram',
    user_id: made.user_id,
    external_id: person.id,
    external_name: cutText(storableText(person.name), 200),
  });
  await tx
    .delete(channel_strangers)
    .where(and(eq(channel_strangers.channel_id, channel.id), eq(channel_strangers.external_id, person.id)));
  const user = await speakerOf(tx, channel, person.id);
  if (user === undefined) return { how: 'wrong' };
  await recordChanges(tx, user, [changeOfChannel(channel, 'channel.paired', { user_id: made.user_id })]);
  return { how: 'paired', user };
}

/** Counts the try before the code is checked, in a row that concurrent tries wait for. Undefined: too many strangers. */
async function countTry(tx: Tx, channel_id: string, external_id: string): Promise<number | undefined> {
  await isNewStranger(tx, channel_id, external_id);
  const over = sql`created_at < now() - make_interval(mins => ${TRIES_MINUTES})`;
  const { rows } = await tx.execute<{ failures: number }>(sql`
    update channel_strangers set failures = case when ${over} then 1 else failures + 1 end,
      created_at = case when ${over} then now() else created_at end
    where channel_id = ${channel_id} and external_id = ${external_id} returning failures`);
  return rows[0]?.failures;
}
