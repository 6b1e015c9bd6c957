import type { Actor, ChannelNews, ChannelPerson, MyChannel, PairingCode, UserActor } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { conflict, isUuid, notFound, sha256Hex } from '@acp/kernel';
import { and, asc, eq, getTableColumns, inArray, isNull, or, sql } from 'drizzle-orm';
import { randomInt } from 'node:crypto';
import { recordChanges } from '../activity/index.ts';
import { ofLiveCompany } from '../companies/index.ts';
import { assertFreshSignIn, revokePairings, setPairingNotifications } from '../identity/index.ts';
import { queueNotice } from './outbox.ts';
import { changeOfChannel, type ChannelRow, presentPairing } from './present.ts';

const { channel_pairing_codes, channels, chat_pairings, companies, users } = schema;

const CODE_MINUTES = 10;
/** Excludes letters and digits that are easily confused. */
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';
const CODE_LENGTH = 8;
const MOST_SHOWN = 200;

export const codeHash = (code: string): string => sha256Hex(`pairing ${code.toUpperCase()}`);
/** Whether a text has the form of a code. */
export const isCode = (text: string): boolean =>
  new RegExp(`^[${ALPHABET}]{${CODE_LENGTH}}$`, 'i').test(text);

/** Newest first. */
export async function listChannelPeople(
  tx: Tx,
  channel: Pick<ChannelRow, 'id'>,
  query: PageRequest,
): Promise<Page<ChannelPerson>> {
  const page = newestFirst(chat_pairings.created_at, chat_pairings.id, query, 50);
  const rows = await tx
    .select({ pairing: chat_pairings, user_name: users.display_name })
    .from(chat_pairings)
    .innerJoin(users, eq(users.id, chat_pairings.user_id))
    .where(and(eq(chat_pairings.channel_id, channel.id), isNull(chat_pairings.revoked_at), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(
    rows,
    ({ pairing: { created_at, id } }) => ({ at: created_at, id }),
    ({ pairing, user_name }) => ({
      ...presentPairing(pairing),
      channel_id: pairing.channel_id,
      user_id: pairing.user_id,
      user_name,
    }),
  );
}

/** @throws notFound if the two are not paired */
export async function removeChannelPerson(
  tx: Tx,
  actor: Actor,
  channel: Pick<ChannelRow, 'id' | 'company_id' | 'name' | 'kind'>,
  user_id: string,
): Promise<void> {
  if (!isUuid(user_id) || (await revokePairings(tx, { user_id, channel_id: channel.id })) === 0)
    throw notFound();
  await recordChanges(tx, actor, [changeOfChannel(channel, 'channel.unpaired', { user_id })]);
}

/** Channels of the companies that the user is a member of; an instance admin is not implicitly a member. */
export async function myChannels(tx: Tx, actor: UserActor, id?: string): Promise<MyChannel[]> {
  const own = Object.keys(actor.roles);
  if (own.length === 0 || (id !== undefined && !isUuid(id))) return [];
  const rows = await tx
    .select({ channel: getTableColumns(channels), company_name: companies.name, pairing: chat_pairings })
    .from(channels)
    .innerJoin(companies, ofLiveCompany(channels.company_id))
    .leftJoin(
      chat_pairings,
      and(
        eq(chat_pairings.channel_id, channels.id),
        eq(chat_pairings.user_id, actor.user_id),
        isNull(chat_pairings.revoked_at),
      ),
    )
    .where(
      and(
        inArray(channels.company_id, own),
        or(eq(channels.enabled, true), sql`${chat_pairings.id} is not null`),
        id === undefined ? undefined : eq(channels.id, id),
      ),
    )
    .orderBy(asc(companies.name), asc(channels.name))
    .limit(MOST_SHOWN);
  return rows.map(({ channel, company_name, pairing }) => ({
    id: channel.id,
    company_id: channel.company_id,
    company_name,
    name: channel.name,
    kind: channel.kind as MyChannel['kind'],
    bot_name: channel.bot_name,
    pairing: pairing && presentPairing(pairing),
  }));
}

/** No code of the user pairs anyone any more. */
export async function endPairingCodes(tx: Tx, user_id: string): Promise<void> {
  await tx.delete(channel_pairing_codes).where(eq(channel_pairing_codes.user_id, user_id));
}

async function myChannel(tx: Tx, actor: UserActor, id: string): Promise<MyChannel> {
  const [channel] = await myChannels(tx, actor, id);
  if (channel === undefined) throw notFound();
  return channel;
}

/**
 * Replaces the previous code. Whoever sends the code within ten minutes speaks in the user's name from then on.
 * @throws notFound, forbidden for a sign-in that is not fresh
 */
export async function createPairingCode(tx: Tx, actor: UserActor, channel_id: string): Promise<PairingCode> {
  const channel = await myChannel(tx, actor, channel_id);
  await assertFreshSignIn(tx, actor);
  const code = Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  const set = {
    code_hash: codeHash(code),
    created_at: sql`now()`,
    expires_at: sql`now() + make_interval(mins => ${CODE_MINUTES})`,
  };
  const [row] = await tx
    .insert(channel_pairing_codes)
    .values({ ...set, channel_id: channel.id, user_id: actor.user_id } as never)
    .onConflictDoUpdate({
      target: [channel_pairing_codes.channel_id, channel_pairing_codes.user_id],
      set,
    })
    .returning({ expires_at: channel_pairing_codes.expires_at });
  const link =
    channel.kind === 'telegram' && channel.bot_name !== null && /^\w{1,64}$/.test(channel.bot_name)
      ? `https://t.me/${channel.bot_name}?start=${code}`
      : null;
  return { channel_id: channel.id, code, expires_at: row!.expires_at, link };
}

/** @throws notFound if the caller is not paired with it */
export async function setMyNotifications(
  tx: Tx,
  actor: UserActor,
  channel_id: string,
  notify: readonly ChannelNews[],
): Promise<MyChannel> {
  const { id } = await myChannel(tx, actor, channel_id);
  if ((await setPairingNotifications(tx, { user_id: actor.user_id, channel_id: id }, notify)) === undefined)
    throw notFound();
  return myChannel(tx, actor, id);
}

/** @throws notFound if the caller is not paired with it */
export async function unpair(tx: Tx, actor: UserActor, channel_id: string): Promise<void> {
  const { id, company_id, name, kind } = await myChannel(tx, actor, channel_id);
  await removeChannelPerson(tx, actor, { id, company_id, name, kind }, actor.user_id);
}

/** Sends a message to the caller, to verify that the channel works. @throws conflict */
export async function testChannel(tx: Tx, actor: Actor, channel: ChannelRow): Promise<void> {
  if (actor.kind !== 'user') throw conflict('only a person can be paired with the channel');
  if (!channel.enabled) throw conflict('the channel is switched off');
  const [pairing] = await tx
    .select()
    .from(chat_pairings)
    .where(
      and(
        eq(chat_pairings.channel_id, channel.id),
        eq(chat_pairings.user_id, actor.user_id),
        isNull(chat_pairings.revoked_at),
      ),
    );
  if (pairing === undefined) throw conflict('you are not paired with the channel: see your profile');
  const body = `This is a test message of the channel **${channel.name}**. It works.`;
  await queueNotice(tx, channel.id, { user_id: actor.user_id, conversation: pairing.external_id }, body);
  await recordChanges(tx, actor, [changeOfChannel(channel, 'channel.tested')]);
}
