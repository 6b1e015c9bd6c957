import type { ChannelIncoming, UserActor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { recordChanges } from '../activity/index.ts';
import { findChat, stopChat } from '../chats/index.ts';
import { revokePairings } from '../identity/index.ts';
import { changeOfChannel, type ChannelRow } from './present.ts';
import { agentCalled, agentsAtHand, chooseAgent, keepChat, lockThread } from './threads.ts';

export interface Command {
  name: string;
  rest: string;
}

/** `/name` or `!name` (Slack reserves the former), followed by the bot's own name in groups. Null: not a command. */
export function commandOf(text: string): Command | null {
  const [, name, rest = ''] = /^\s*[/!]([a-z]{1,20})(?:@\w+)?(?:\s+([\s\S]*))?$/i.exec(text) ?? [];
  return name === undefined ? null : { name: name.toLowerCase(), rest: rest.trim() };
}

const HELP = `What you write goes to an agent, in your name. Beside that:

- \`!agents\` shows whom you can talk with
- \`!agent NAME\` chooses one for this conversation
- \`!new\` begins a new chat
- \`!stop\` stops the reply that is being written
- \`!unpair\` ends your pairing with this bot
- \`!help\` shows this

A slash does as well as the exclamation mark where the app lets it pass.`;

/** @returns the answer; null: none */
export async function obey(
  tx: Tx,
  channel: ChannelRow,
  actor: UserActor,
  incoming: ChannelIncoming,
  { name, rest }: Command,
): Promise<string | null> {
  switch (name) {
    case 'agents':
      return listed(tx, channel);
    case 'agent':
      return choose(tx, channel, actor, incoming, rest);
    case 'new': {
      await keepChat(tx, await lockThread(tx, channel, actor, incoming), null);
      return 'A new chat begins with your next message.';
    }
    case 'stop': {
      const { chat_id } = await lockThread(tx, channel, actor, incoming);
      const chat = chat_id === null ? undefined : await findChat(tx, chat_id, actor);
      if (chat === undefined) return 'There is nothing to stop.';
      await stopChat(tx, actor, chat);
      return null;
    }
    case 'unpair':
      await revokePairings(tx, { user_id: actor.user_id, channel_id: channel.id });
      await recordChanges(tx, actor, [
        changeOfChannel(channel, 'channel.unpaired', { user_id: actor.user_id }),
      ]);
      return 'You are not paired any more: to write here again, ask for a new code in your profile.';
    case 'help':
    case 'start':
      return HELP;
    default:
      return `There is no \`!${name}\`. \`!help\` shows what there is.`;
  }
}

async function listed(tx: Tx, { company_id }: ChannelRow): Promise<string> {
  const agents = await agentsAtHand(tx, company_id);
  if (agents.length === 0) return 'The company has no agent yet.';
  const lines = agents.map(({ name, title, role }) => `- **${plain(name)}**, ${plain(title ?? role)}`);
  return `${lines.join('\n')}\n\n\`!agent NAME\` chooses one.`;
}

async function choose(
  tx: Tx,
  channel: ChannelRow,
  actor: UserActor,
  incoming: ChannelIncoming,
  wanted: string,
): Promise<string> {
  const named = await agentCalled(tx, channel.company_id, wanted);
  if (named === undefined) return `There is no such agent.\n\n${await listed(tx, channel)}`;
  await chooseAgent(tx, await lockThread(tx, channel, actor, incoming), named.id);
  return `You are talking with **${plain(named.name)}** now.`;
}

/** Escapes Markdown: names are chosen by users and must not become markup. */
export const plain = (text: string): string => text.replaceAll(/[\\`*_{}[\]<>()#+\-.!|~]/g, String.raw`\$&`);
