import type { Actor, Channel, ChannelKnowledge, CreateChannel, UpdateChannel } from '@acp/contract';
import {
  byCreation,
  containing,
  isUniqueViolation,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  type Tx,
} from '@acp/db';
import { conflict, invalid, isUuid, notFound } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { ofLiveCompany } from '../companies/index.ts';
import { openCursor } from '../events/index.ts';
import { revokePairings } from '../identity/index.ts';
import { assertReferences, withoutUnchanged } from '../trash/index.ts';
import { CURSOR } from './cursor.ts';
import { changeOfChannel, channelColumns, type ChannelRow, presentChannel } from './present.ts';

const { channels, companies } = schema;

export async function findChannel(tx: Tx, id: string): Promise<ChannelRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(channelColumns)
    .from(channels)
    .innerJoin(companies, ofLiveCompany(channels.company_id))
    .where(eq(channels.id, id));
  return row;
}

export async function listChannels(tx: Tx, company_id: string, query: SearchRequest): Promise<Page<Channel>> {
  const page = newestFirst(channels.created_at, channels.id, query, 50);
  const rows = await tx
    .select(channelColumns)
    .from(channels)
    .where(and(eq(channels.company_id, company_id), containing(query.q, [channels.name]), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, byCreation, presentChannel);
}

/** @throws invalid for tokens or an agent that don't fit, conflict for a taken name or beyond 20 channels */
export async function createChannel(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateChannel,
): Promise<Channel> {
  assertTokens(input.kind, input.app_token ?? null);
  await assertReferences(tx, 'channels', company_id, { default_agent_id: input.default_agent_id });
  await assertRoom(tx, 'channels', company_id);
  // Starts reading now: earlier events are news to no one.
  await openCursor(tx, CURSOR);
  const [row] = await unlessTaken(async () =>
    tx
      .insert(channels)
      .values({ ...input, company_id })
      .returning(),
  );
  await recordChanges(tx, actor, [changeOfChannel(row!, 'channel.created')]);
  return presentChannel(row!);
}

/** Changes a channel; an absent field is left alone. If tokens change, its holder reconnects. @throws as `createChannel` */
export async function updateChannel(
  tx: Tx,
  actor: Actor,
  subject: ChannelRow,
  patch: UpdateChannel,
): Promise<Channel> {
  const input = withoutUnchanged('channels', subject, patch);
  const before = await lockChannel(tx, subject.id);
  const app_token = input.app_token === undefined ? before.app_token : input.app_token;
  assertTokens(before.kind, app_token);
  const { default_agent_id } = input;
  await assertReferences(tx, 'channels', before.company_id, { default_agent_id }, before.id);
  const enabled = input.enabled ?? before.enabled;
  const anew =
    enabled !== before.enabled ||
    app_token !== before.app_token ||
    (input.bot_token !== undefined && input.bot_token !== before.bot_token);
  if (enabled) await openCursor(tx, CURSOR);
  const allowed = input.groups ?? before.groups;
  const [row] = await unlessTaken(async () =>
    tx
      .update(channels)
      .set({
        ...input,
        refused_groups: before.refused_groups.filter(({ id }) => !allowed.includes(id)),
        ...(anew && {
          status: 'connecting',
          last_error: null,
          failing_since: null,
          revision: sql`${channels.revision} + 1`,
          // A current holder releases it when it sees the change; otherwise any pause after failures is skipped.
          lease_until: before.held_by === null ? sql`now()` : before.lease_until,
        }),
        updated_at: sql`now()`,
      })
      .where(eq(channels.id, before.id))
      .returning(),
  );
  await recordChanges(tx, actor, [changeOfChannel(row!, 'channel.updated', { fields: Object.keys(input) })]);
  return presentChannel(row!);
}

/** Sets what prompts of its chats may contain, from the next reply on. */
export async function setChannelKnowledge(
  tx: Tx,
  actor: Actor,
  subject: ChannelRow,
  knowledge: readonly ChannelKnowledge[],
): Promise<Channel> {
  const [row] = await tx
    .update(channels)
    .set({ knowledge: [...knowledge], updated_at: sql`now()` })
    .where(eq(channels.id, subject.id))
    .returning(channelColumns);
  if (row === undefined) throw notFound();
  await recordChanges(tx, actor, [changeOfChannel(row, 'channel.updated', { knowledge })]);
  return presentChannel(row);
}

/** Permanently deletes the channel with its pairings and everything pending; users keep their chats. */
export async function deleteChannel(tx: Tx, actor: Actor, channel: ChannelRow): Promise<void> {
  // Lock order: the channel before its pairings, as where its holder receives a code.
  await lockChannel(tx, channel.id);
  await revokePairings(tx, { channel_id: channel.id });
  await tx.delete(channels).where(eq(channels.id, channel.id));
  await recordChanges(tx, actor, [changeOfChannel(channel, 'channel.deleted')]);
}

async function lockChannel(tx: Tx, id: string): Promise<ChannelRow> {
  const [row] = await tx.select().from(channels).where(eq(channels.id, id)).for('no key update');
  if (row === undefined) throw notFound();
  return row;
}

function assertTokens(kind: string, app_token: string | null): void {
  if (kind === 'slack' && app_token === null) throw invalid('app_token: Slack’s socket mode needs one');
  if (kind === 'telegram' && app_token !== null) throw invalid('app_token: Telegram has none');
}

async function unlessTaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (isUniqueViolation(error, 'channels_company_name')) throw conflict('name is already in use');
    throw error;
  }
}
