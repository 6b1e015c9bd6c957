/** Pure: converts a Telegram update into the shape shared by all channels. */
import type { ChannelFile, ChannelIncoming } from '@acp/contract';
import { type Static, Type } from 'typebox';

const Person = Type.Object({
  id: Type.Number(),
  is_bot: Type.Optional(Type.Boolean()),
  first_name: Type.Optional(Type.String()),
  last_name: Type.Optional(Type.String()),
  username: Type.Optional(Type.String()),
});
const Chat = Type.Object({
  id: Type.Number(),
  type: Type.String(),
  title: Type.Optional(Type.String()),
  is_forum: Type.Optional(Type.Boolean()),
});
const Attached = Type.Object({
  file_id: Type.String(),
  file_name: Type.Optional(Type.String()),
  mime_type: Type.Optional(Type.String()),
  file_size: Type.Optional(Type.Number()),
});
const Message = Type.Object({
  message_id: Type.Number(),
  from: Type.Optional(Person),
  chat: Chat,
  is_topic_message: Type.Optional(Type.Boolean()),
  message_thread_id: Type.Optional(Type.Number()),
  text: Type.Optional(Type.String()),
  caption: Type.Optional(Type.String()),
  document: Type.Optional(Attached),
  photo: Type.Optional(Type.Array(Attached)),
  audio: Type.Optional(Attached),
  video: Type.Optional(Attached),
  voice: Type.Optional(Attached),
  reply_to_message: Type.Optional(Type.Object({ from: Type.Optional(Person) })),
});
export const TelegramUpdate = Type.Object({
  update_id: Type.Number(),
  message: Type.Optional(Message),
  callback_query: Type.Optional(
    Type.Object({
      id: Type.Union([Type.String(), Type.Number()]),
      from: Person,
      data: Type.Optional(Type.String()),
      message: Type.Optional(Type.Object({ message_id: Type.Number(), chat: Chat })),
    }),
  ),
});
type Update = Static<typeof TelegramUpdate>;

const nameOf = ({ first_name, last_name, username }: Static<typeof Person>): string =>
  ([first_name, last_name].filter(Boolean).join(' ') || (username ?? '')).slice(0, 200);

/** Undefined for anything not addressed to the bot by a person: other bots, group messages that don't name it. */
export function toIncoming(
  { update_id, message, callback_query: pressed }: Update,
  bot: { id: string; name: string },
): ChannelIncoming | undefined {
  const external_id = String(update_id);
  if (pressed !== undefined) {
    if (pressed.message === undefined) return undefined;
    const { chat, message_id } = pressed.message;
    return {
      ...said(external_id, pressed.from, chat, message_id),
      kind: 'press',
      press: { value: (pressed.data ?? '').slice(0, 200), callback: String(pressed.id) },
    };
  }
  if (message?.from === undefined || message.from.is_bot === true) return undefined;
  const { from, chat, message_id } = message;
  const text = addressed(message, bot);
  if (text === undefined) return undefined;
  return {
    ...said(external_id, from, chat, message_id),
    thread: message.is_topic_message === true ? String(message.message_thread_id ?? '') : '',
    text,
    files: filesOf(message),
  };
}

function said(
  external_id: string,
  from: Static<typeof Person>,
  chat: Static<typeof Chat>,
  message_id: number,
): ChannelIncoming {
  return {
    kind: 'message',
    external_id,
    person: { id: String(from.id), name: nameOf(from) },
    conversation: String(chat.id),
    thread: '',
    title: (chat.title ?? '').slice(0, 200),
    is_private: chat.type === 'private',
    message_id: String(message_id),
    text: '',
    files: [],
    press: null,
  };
}

/** In a group the bot receives commands, mentions of its name, and replies to its messages; its name is removed. */
function addressed(message: Static<typeof Message>, bot: { id: string; name: string }): string | undefined {
  const text = message.text ?? message.caption ?? '';
  if (message.chat.type === 'private') return text;
  const name = bot.name === '' ? null : new RegExp(`(^|\\s)@${bot.name}\\b`, 'i');
  if (name?.test(text) === true) return text.replace(name, ' ').trim();
  const command = new RegExp(`^/\\w+@${bot.name}\\b`, 'i');
  if (/^\/\w+(\s|$)/.test(text) || (bot.name !== '' && command.test(text))) return text;
  return String(message.reply_to_message?.from?.id ?? '') === bot.id ? text : undefined;
}

function filesOf({ document, photo, audio, video, voice }: Static<typeof Message>): ChannelFile[] {
  // A photo comes in several sizes: the last is the largest.
  const image = photo?.at(-1);
  const sound = voice && { mime_type: 'audio/ogg', ...voice, file_name: 'voice.ogg' };
  const all = [
    document,
    image && { ...image, file_name: 'photo.jpg', mime_type: 'image/jpeg' },
    audio,
    video,
    sound,
  ];
  return all.flatMap((file) =>
    file === undefined
      ? []
      : [
          {
            source: file.file_id.slice(0, 2000),
            name: (file.file_name ?? 'file').slice(0, 255),
            content_type: (file.mime_type ?? 'application/octet-stream').slice(0, 255),
            size_bytes: file.file_size ?? null,
          },
        ],
  );
}
