import type { ChannelKind, ChannelNews, CompanyRole, UserActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { and, eq, isNull, or, type SQL, sql } from 'drizzle-orm';
import { hasSecondFactor, requiresSecondFactor } from './second-factor-rule.ts';

const { chat_pairings } = schema;

type PairingRow = typeof chat_pairings.$inferSelect;

/** An identity at a vendor, as known to one of a company's channels. */
interface PairedIdentity {
  channel_id: string;
  company_id: string;
  channel: ChannelKind;
  user_id: string;
  external_id: string;
  external_name: string;
}

/** How long an ended pairing is kept. */
const REVOKED_KEPT_DAYS = 30;

/** Replaces earlier pairings of the person, and of the identity, in this channel. */
export async function pairIdentity(tx: Tx, identity: PairedIdentity): Promise<PairingRow> {
  const { channel_id, user_id, external_id } = identity;
  const earlier = and(
    eq(chat_pairings.channel_id, channel_id),
    or(eq(chat_pairings.user_id, user_id), eq(chat_pairings.external_id, external_id)),
  );
  await revokeWhere(tx, earlier, user_id);
  const [row] = await tx.insert(chat_pairings).values(identity).returning();
  await showIdentities(tx, [user_id]);
  return row!;
}

/** Ends pairings: a user's, a user's with one company or channel, or a channel's. @returns how many */
export async function revokePairings(
  tx: Tx,
  which:
    | { user_id: string; company_id?: string; channel_id?: string }
    | { user_id?: string; channel_id: string },
): Promise<number> {
  const { user_id, company_id, channel_id } = { company_id: undefined, ...which };
  return revokeWhere(
    tx,
    and(
      user_id === undefined ? undefined : eq(chat_pairings.user_id, user_id),
      company_id === undefined ? undefined : eq(chat_pairings.company_id, company_id),
      channel_id === undefined ? undefined : eq(chat_pairings.channel_id, channel_id),
    ),
  );
}

/** @param for_user who is about to be paired */
async function revokeWhere(tx: Tx, which: SQL | undefined, for_user: string | null = null): Promise<number> {
  const standing = and(isNull(chat_pairings.revoked_at), which);
  // Lock order: accounts before their pairings, as where someone loses rights.
  await tx.execute(sql`
    select from users where id = any(array(
      select user_id from ${chat_pairings} where ${standing} union select ${for_user}::uuid)) order by id for no key update`);
  const ended = await tx
    .update(chat_pairings)
    .set({ revoked_at: sql`now()` })
    .where(standing)
    .returning({ user_id: chat_pairings.user_id });
  await showIdentities(
    tx,
    ended.map(({ user_id }) => user_id),
  );
  return ended.length;
}

/** The user's record names the most recently paired identity of each kind. */
async function showIdentities(tx: Tx, user_ids: readonly string[]): Promise<void> {
  if (user_ids.length === 0) return;
  const newest = (kind: ChannelKind) => sql`(
    select p.external_id from chat_pairings p where p.user_id = u.id and p.channel = ${kind} and p.revoked_at is null
    order by p.created_at desc, p.id limit 1)`;
  await tx.execute(sql`
    update users u set slack_user_id = ${newest('slack')}, telegram_user_id = ${newest('telegram')}
    where u.id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(user_ids)}::jsonb))`);
}

/** @returns undefined if the two are not paired */
export async function setPairingNotifications(
  tx: Tx,
  { user_id, channel_id }: { user_id: string; channel_id: string },
  notify: readonly ChannelNews[],
): Promise<PairingRow | undefined> {
  const [row] = await tx
    .update(chat_pairings)
    .set({ notify: [...notify] })
    .where(
      and(
        eq(chat_pairings.user_id, user_id),
        eq(chat_pairings.channel_id, channel_id),
        isNull(chat_pairings.revoked_at),
      ),
    )
    .returning();
  return row;
}

export async function deleteRevokedPairings(tx: Tx): Promise<void> {
  await tx.execute(sql`
    delete from chat_pairings where revoked_at is not null and revoked_at < now() - make_interval(days => ${REVOKED_KEPT_DAYS})`);
}

/**
 * The user speaking through a channel, with rights in its company only, whatever the user's other roles. Undefined for an
 * unpaired identity, and for a person who is deactivated or no longer a member.
 */
export async function pairedUser(
  tx: Tx,
  { channel_id, company_id, external_id }: { channel_id: string; company_id: string; external_id: string },
): Promise<UserActor | undefined> {
  const { rows } = await tx.execute<{
    user_id: string;
    name: string;
    role: CompanyRole;
    must_enrol: boolean;
  }>(sql`
    select u.id as user_id, u.display_name as name, m.role, ${requiresSecondFactor} and not ${hasSecondFactor} as must_enrol
    from chat_pairings p join users u on u.id = p.user_id and u.is_active
    join memberships m on m.user_id = u.id and m.company_id = ${company_id}
    join companies c on c.id = m.company_id and c.deleted_at is null
    where p.channel_id = ${channel_id} and p.external_id = ${external_id} and p.revoked_at is null`);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { user_id, name, role, must_enrol } = row;
  return {
    kind: 'user',
    user_id,
    name,
    instance_role: 'member',
    session_id: null,
    roles: { [company_id]: role },
    ...(must_enrol && { must_enrol }),
  };
}
