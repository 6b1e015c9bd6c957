import type { ChannelFile, ChannelIncoming, UserActor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import type { StoredFile } from '../attachments/index.ts';
import { findChat, createChat, postChatMessage } from '../chats/index.ts';
import { requireEntitlement } from '../settings/index.ts';
import { commandOf, obey } from './commands.ts';
import { type ChannelHold, lockHeld } from './holder.ts';
import { finishIncoming, type StoredIncoming } from './inbox.ts';
import { queueNotice } from './outbox.ts';
import { isCode } from './people.ts';
import type { ChannelRow } from './present.ts';
import { pressButton } from './press.ts';
import { isNewStranger, pairByCode, speakerOf } from './speaker.ts';
import { agentFor, keepChat, lockThread } from './threads.ts';

/** What to report to the vendor immediately, besides what is queued. */
export interface Received {
  /** The answer to a pressed button. */
  callback: { id: string; text: string } | null;
}

const nothing: Received = { callback: null };

const WELCOME = `You are paired: what you write here goes to an agent of the company, in your name.

Write \`!help\` to see what else there is. What you are told of is chosen in your profile.`;

const REFUSAL = `I work for people of one company, and I don't know you. If you are one of them, ask for a code in your profile there, and send it to me.`;

/** The files that the sender may submit; checked before they are fetched. */
export async function mayBringFiles(
  tx: Tx,
  channel: ChannelRow,
  { person, files }: ChannelIncoming,
): Promise<ChannelFile[]> {
  if (files.length === 0) return [];
  const actor = await speakerOf(tx, channel, person.id);
  return actor !== undefined && mayWrite(actor, channel) ? files : [];
}

/**
 * Handles a message, once: all effects are committed or rolled back together with its row.
 * @param files those of the message that could be fetched; what is not kept is left to the sweep
 * @param unfetched human-readable reasons why others could not be fetched
 * @returns undefined if the lease is lost, or another process has handled it
 */
export async function receive(
  tx: Tx,
  hold: ChannelHold,
  { id, incoming }: StoredIncoming,
  files: readonly StoredFile[],
  unfetched: readonly string[],
): Promise<Received | undefined> {
  const channel = await lockHeld(tx, hold);
  if (channel === undefined || !(await finishIncoming(tx, id))) return undefined;
  const actor = await speakerOf(tx, channel, incoming.person.id);
  if (incoming.kind === 'press') return pressed(tx, channel, actor, incoming);
  if (actor === undefined) await meetStranger(tx, channel, incoming);
  else await hear(tx, channel, actor, incoming, files, unfetched);
  return nothing;
}

async function pressed(
  tx: Tx,
  channel: ChannelRow,
  actor: UserActor | undefined,
  { press }: ChannelIncoming,
): Promise<Received> {
  if (press === null) return nothing;
  const text =
    actor === undefined ? 'You are not paired.' : await pressButton(tx, channel, actor, press.value);
  return { callback: { id: press.callback, text } };
}

/** Answers only in private, and only once: a bot that answers everyone can be abused to spam others. */
async function meetStranger(tx: Tx, channel: ChannelRow, incoming: ChannelIncoming): Promise<void> {
  const { person, conversation, is_private, text } = incoming;
  if (!is_private) return;
  const say = async (body: string) => queueNotice(tx, channel.id, { user_id: null, conversation }, body);
  const code = codeIn(text);
  if (code === null) {
    if (await isNewStranger(tx, channel.id, person.id)) await say(REFUSAL);
    return;
  }
  const refused = await refusal(tx, async (inner) => requireEntitlement(inner));
  if (refused !== null) return;
  const pairing = await pairByCode(tx, channel, person, code);
  if (pairing.how === 'paired') await say(WELCOME);
  else if (pairing.how === 'wrong') await say('That code is not known, or its ten minutes are over.');
  else if (pairing.first_time)
    await say('That was one try too many. Wait ten minutes, and ask for a new code.');
}

/** A code by itself, or after `/start`, as Telegram's links send it, or `/pair`. */
function codeIn(text: string): string | null {
  const [, code = ''] = /^\s*(?:[/!](?:start|pair)\s+)?(\S+)\s*$/.exec(text) ?? [];
  return isCode(code) ? code : null;
}

const mayWrite = (actor: UserActor, { company_id }: ChannelRow): boolean =>
  !actor.must_enrol && ['member', 'admin'].includes(actor.roles[company_id] ?? '');

/** Handles a paired person's message: a command, or text for an agent. */
async function hear(
  tx: Tx,
  channel: ChannelRow,
  actor: UserActor,
  incoming: ChannelIncoming,
  files: readonly StoredFile[],
  unfetched: readonly string[],
): Promise<void> {
  const { conversation, thread, message_id, is_private } = incoming;
  const reply_to = is_private ? null : message_id;
  const say = async (body: string, user_id: string | null = actor.user_id) =>
    queueNotice(tx, channel.id, { user_id, conversation, thread, reply_to }, body);
  if (actor.must_enrol) return say('A second factor is required of you: sign in and set one up first.');
  const command = commandOf(incoming.text);
  if (command !== null) {
    const answer = await obey(tx, channel, actor, incoming, command);
    // What goes to a user is sent only while that user is paired.
    if (answer !== null) await say(answer, command.name === 'unpair' ? null : actor.user_id);
    return;
  }
  if (!mayWrite(actor, channel))
    return say('You may read in this company, and not write: an admin can change that.');
  for (const reason of unfetched) await say(reason);
  if (incoming.text.trim() === '' && files.length === 0) return;
  const problem = await refusal(tx, async (inner) => pass(inner, channel, actor, incoming, files));
  if (problem !== null) await say(`That was not passed on: ${problem}.`);
}

/** Posts the message to the thread's agent, in its chat. @throws errors whose message is shown to the person */
async function pass(
  tx: Tx,
  channel: ChannelRow,
  actor: UserActor,
  incoming: ChannelIncoming,
  files: readonly StoredFile[],
): Promise<void> {
  await requireEntitlement(tx);
  const thread = await lockThread(tx, channel, actor, incoming);
  const agent_id = await agentFor(tx, channel, thread);
  const known = thread.chat_id === null ? undefined : await findChat(tx, thread.chat_id, actor);
  let chat = known?.agent_id === agent_id ? known : undefined;
  if (chat === undefined) {
    const held = { channel: channel.kind as 'slack' | 'telegram', channel_id: channel.id };
    const made = await createChat(tx, actor, channel.company_id, { agent_id }, held);
    chat = await findChat(tx, made.id, actor);
    await keepChat(tx, thread, made.id);
  }
  await postChatMessage(tx, actor, chat!, { body_markdown: incoming.text }, files);
}

/** @returns the error message if the service refuses the act, which is then rolled back */
async function refusal(tx: Tx, act: (tx: Tx) => Promise<unknown>): Promise<string | null> {
  try {
    await tx.transaction(async (inner) => act(inner));
    return null;
  } catch (error) {
    if (error instanceof ServiceError) return error.message;
    throw error;
  }
}
