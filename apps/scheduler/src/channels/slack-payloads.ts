/** Pure: converts an envelope of Slack's socket mode into the shape shared by all channels. */
import type { ChannelFile, ChannelIncoming } from '@acp/contract';
import { type Static, Type } from 'typebox';

const Attached = Type.Object({
  url_private: Type.Optional(Type.String()),
  url_private_download: Type.Optional(Type.String()),
  name: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  mimetype: Type.Optional(Type.String()),
  size: Type.Optional(Type.Number()),
});
const Event = Type.Object({
  type: Type.String(),
  subtype: Type.Optional(Type.String()),
  user: Type.Optional(Type.String()),
  bot_id: Type.Optional(Type.String()),
  text: Type.Optional(Type.String()),
  ts: Type.Optional(Type.String()),
  thread_ts: Type.Optional(Type.String()),
  channel: Type.Optional(Type.String()),
  channel_type: Type.Optional(Type.String()),
  files: Type.Optional(Type.Array(Attached)),
});
export const EventPayload = Type.Object({ event_id: Type.String(), event: Event });
export const PressPayload = Type.Object({
  type: Type.String(),
  user: Type.Object({
    id: Type.String(),
    name: Type.Optional(Type.String()),
    username: Type.Optional(Type.String()),
  }),
  channel: Type.Optional(Type.Object({ id: Type.String() })),
  message: Type.Optional(Type.Object({ ts: Type.String() })),
  actions: Type.Array(Type.Object({ value: Type.Optional(Type.String()) })),
});

/** Undefined for anything not addressed to the bot by a person: other bots, edits, channel messages that don't mention it. */
export function eventToIncoming(
  { event_id, event }: Static<typeof EventPayload>,
  bot_id: string,
): ChannelIncoming | undefined {
  const { type, subtype, user, channel, ts } = event;
  if (user === undefined || channel === undefined || ts === undefined || event.bot_id !== undefined)
    return undefined;
  if (user === bot_id || (subtype !== undefined && subtype !== 'file_share')) return undefined;
  const is_private = event.channel_type === 'im' || channel.startsWith('D');
  // In channels a mention also arrives as its own event, so the plain message is ignored.
  if (type !== (is_private ? 'message' : 'app_mention')) return undefined;
  return {
    kind: 'message',
    external_id: event_id.slice(0, 200),
    person: { id: user, name: user },
    conversation: is_private ? user : channel,
    // A mention starts a thread; a direct message has one only if the person started it.
    thread: event.thread_ts ?? (is_private ? '' : ts),
    title: channel,
    is_private,
    message_id: ts,
    text: readable(event.text ?? '', bot_id),
    files: (event.files ?? []).slice(0, 10).flatMap(fileOf),
    press: null,
  };
}

export function pressToIncoming(
  envelope_id: string,
  { type, user, channel, message, actions }: Static<typeof PressPayload>,
): ChannelIncoming | undefined {
  const [action] = actions;
  if (type !== 'block_actions' || channel === undefined || message === undefined || action === undefined)
    return undefined;
  return {
    kind: 'press',
    external_id: envelope_id.slice(0, 200),
    person: { id: user.id, name: (user.username ?? user.name ?? user.id).slice(0, 200) },
    conversation: channel.id,
    thread: '',
    title: '',
    is_private: channel.id.startsWith('D'),
    message_id: message.ts,
    text: '',
    files: [],
    press: { value: (action.value ?? '').slice(0, 200), callback: `${channel.id} ${user.id}` },
  };
}

/** Turns Slack's markup back into what people wrote, and removes the bot's name. No angle bracket is in another. */
function readable(text: string, bot_id: string): string {
  return text
    .replaceAll(`<@${bot_id}>`, ' ')
    .replaceAll(/<(https?:\/\/[^|<>]+|mailto:[^|<>]+)(?:\|([^<>]*))?>/g, (_, url: string, label?: string) =>
      label === undefined || label === url ? url : `[${label}](${url})`,
    )
    .replaceAll(/<[@#!]([^|<>]+)(?:\|([^<>]*))?>/g, (_, id: string, label?: string) => `@${label ?? id}`)
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .trim();
}

function fileOf(file: Static<typeof Attached>): ChannelFile[] {
  const source = file.url_private_download ?? file.url_private;
  if (source === undefined || source.length > 2000) return [];
  return [
    {
      source,
      name: (file.name ?? 'file').slice(0, 255),
      content_type: (file.mimetype ?? 'application/octet-stream').slice(0, 255),
      size_bytes: file.size ?? null,
    },
  ];
}
