/** Chats between people and agents (decisions 3, Chats). A reply is a run of kind `chat_reply`. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { EXAMPLE_ID } from './example-id.ts';
import { Name, Nullable, OneOf, PageQuery, Patch, Timestamp, Uuid } from './schema-kit.ts';

export const chatChannels = ['web', 'slack', 'telegram'] as const;
export type ChatChannel = (typeof chatChannels)[number];

export const Chat = Type.Object({
  id: Uuid,
  company_id: Uuid,
  /** Null while its agent is in the trash: the chat is then read-only. */
  agent_id: Nullable(Uuid),
  /** Generated from the first exchange unless set by someone; null until then. */
  title: Nullable(Type.String()),
  channel: OneOf(chatChannels),
  /** The chat is private to this person; null: opened with a key and visible to the company. */
  created_by_user_id: Nullable(Uuid),
  created_by_agent_id: Nullable(Uuid),
  created_at: Timestamp,
  /** Time of the last message or change. */
  updated_at: Timestamp,
});
export type Chat = Static<typeof Chat>;

/**
 * A user's message is `waiting` for its turn, `answering` (its run is queued or running), `answered`, `failed` (see `error`)
 * or `stopped`. A reply is `answered`, or `stopped` if it was cut short.
 */
export const chatMessageStatuses = ['waiting', 'answering', 'answered', 'failed', 'stopped'] as const;
export type ChatMessageStatus = (typeof chatMessageStatuses)[number];

/** A file attached to a message. Visible to everyone who can see the chat, and deleted with the message. */
export const ChatFile = Type.Object({
  id: Uuid,
  filename: Type.String(),
  content_type: Type.String(),
  size_bytes: Type.Integer(),
  download_path: Type.String(),
});
export type ChatFile = Static<typeof ChatFile>;

export const ChatMessage = Type.Object({
  id: Uuid,
  chat_id: Uuid,
  role: OneOf(['user', 'assistant']),
  /** May be empty if there are files. */
  body_markdown: Type.String(),
  attachments: Type.Array(ChatFile),
  author_user_id: Nullable(Uuid),
  author_agent_id: Nullable(Uuid),
  author_name: Type.String(),
  status: OneOf(chatMessageStatuses),
  /** Why there is no reply. */
  error: Nullable(Type.String()),
  /** The run that answers this message, or for a reply, the run that wrote it. */
  run_id: Nullable(Uuid),
  created_at: Timestamp,
});
export type ChatMessage = Static<typeof ChatMessage>;

/** Text up to 2 KB, and who may see it: null means everyone who can see the company. */
export const ChatMessageEvent = Type.Object({
  ...ChatMessage.properties,
  private_to_user_id: Nullable(Uuid),
});
export type ChatMessageEvent = Static<typeof ChatMessageEvent>;

export const CreateChat = Type.Object({ agent_id: Uuid, title: Type.Optional(Nullable(Name)) });
export type CreateChat = Static<typeof CreateChat>;
export const UpdateChat = Patch({ title: Nullable(Name) });
export type UpdateChat = Static<typeof UpdateChat>;

/** May be empty if there are files; 400 if there are none either. */
const Said = Type.String({ maxLength: 100_000, pattern: '^[^\\u0000]*$' });
export const PostChatMessage = Type.Object({ body_markdown: Type.Optional(Said) });
export type PostChatMessage = Static<typeof PostChatMessage>;
export const ResendChatMessage = Type.Object({ body_markdown: Type.Optional(Said) });
export type ResendChatMessage = Static<typeof ResendChatMessage>;

export const ListChats = Type.Object({
  agent_id: Type.Optional(Uuid),
  /** Part of a title, or words of a message. */
  q: Type.Optional(Type.String({ maxLength: 500 })),
  ...PageQuery,
});
export type ListChats = Static<typeof ListChats>;

const ofCompany = {
  path: '/api/companies/{companyId}/chats',
  auth: BEARER,
  scope: { by: 'company', param: 'companyId' },
} as const;
const one = { path: '/api/chats/{chatId}', auth: BEARER, scope: { by: 'chat', param: 'chatId' } } as const;
const messages = { ...one, path: '/api/chats/{chatId}/messages' } as const;
const read = { method: 'GET', role: 'viewer', status: 200, tx: 'none' } as const;
const withFiles = {
  body_kind: 'json_or_multipart',
  files: { field: 'file', into: { folder: 'attachments' }, limit: 'attachments', required: false },
} as const;
const write = { role: 'member', tx: 'write' } as const;

export const chatEndpoints = {
  list: endpoint({
    ...ofCompany,
    ...read,
    id: 'chats.list',
    query: ListChats,
    response: Type.Array(Chat),
    paged: true,
    doc: 'The caller’s chats and those open to the company, most recently used first.',
  }),
  create: endpoint({
    ...ofCompany,
    ...write,
    id: 'chats.create',
    method: 'POST',
    body: CreateChat,
    response: Chat,
    status: 201,
    example: { agent_id: EXAMPLE_ID, title: 'Plans for spring' },
    doc: 'Opens a chat with an agent. A person’s chat is private; one opened with a key is open to the company.',
  }),
  get: endpoint({ ...one, ...read, id: 'chats.get', response: Chat, doc: 'The chat.' }),
  update: endpoint({
    ...one,
    ...write,
    id: 'chats.update',
    method: 'PATCH',
    body: UpdateChat,
    response: Chat,
    status: 200,
    example: { title: 'Plans for summer' },
    doc: 'Renames the chat.',
  }),
  delete: endpoint({
    ...one,
    ...write,
    id: 'chats.delete',
    method: 'DELETE',
    response: null,
    status: 204,
    doc: 'Deletes the chat permanently, with its messages and the transcripts of its replies; a reply in progress is stopped.',
  }),
  messages: endpoint({
    ...messages,
    ...read,
    id: 'chats.messages',
    query: Type.Object({ ...PageQuery }),
    response: Type.Array(ChatMessage),
    paged: true,
    doc: 'The messages, oldest first; a reply follows the message it answers.',
  }),
  post: endpoint({
    ...messages,
    ...write,
    ...withFiles,
    id: 'chats.post',
    method: 'POST',
    body: PostChatMessage,
    response: ChatMessage,
    status: 201,
    example: { body_markdown: 'What is left to do before the release?' },
    doc: 'Sends a message; the reply arrives as a `chat_message` event and in the list. While a reply is in progress the message waits its turn. 409 if the agent may not answer (paused, in the trash, over budget). As `multipart/form-data` it takes files, in parts named `file`.',
  }),
  stream: endpoint({
    ...messages,
    ...withFiles,
    id: 'chats.stream',
    method: 'POST',
    path: '/api/chats/{chatId}/messages/stream',
    role: 'member',
    body: PostChatMessage,
    response: null,
    status: 200,
    also: [204],
    tx: 'none',
    streams: 'events',
    errors: 'sse',
    example: { body_markdown: 'What is left to do before the release?' },
    doc: 'Sends a message and responds with `text/event-stream`: `message`, `delta` {text} …, `done` (the stored reply) or `error` {error}; between them `action` (a verb of the reply) and `reset` (the reply starts over: discard its text). With the `Last-Event-ID` of an interrupted stream, no message is sent: that stream is resumed.',
  }),
  follow: endpoint({
    ...messages,
    id: 'chats.follow',
    method: 'GET',
    path: '/api/chats/{chatId}/messages/{messageId}/stream',
    role: 'viewer',
    response: null,
    status: 200,
    also: [204],
    tx: 'none',
    streams: 'events',
    errors: 'sse',
    doc: 'The stream of an earlier message, from its beginning or after `Last-Event-ID`; 204 after its last frame.',
  }),
  resend: endpoint({
    ...messages,
    ...write,
    id: 'chats.resend',
    method: 'POST',
    path: '/api/chats/{chatId}/messages/{messageId}/resend',
    body: ResendChatMessage,
    response: ChatMessage,
    status: 201,
    example: { body_markdown: 'And what is left to do before the launch?' },
    doc: 'Asks again, optionally with another text. Everything after the message is removed from the chat. Author only; 409 while a reply is in progress.',
  }),
  file: endpoint({
    ...one,
    id: 'chats.file',
    method: 'GET',
    path: '/api/chats/{chatId}/attachments/{attachmentId}/download',
    role: 'viewer',
    response: null,
    status: 200,
    also: [206],
    tx: 'none',
    streams: 'bytes',
    doc: 'The bytes of a message’s file, always as a download; supports `Range` and `If-None-Match`.',
  }),
  stop: endpoint({
    ...one,
    ...write,
    id: 'chats.stop',
    method: 'POST',
    path: '/api/chats/{chatId}/stop',
    response: Chat,
    status: 200,
    doc: 'Stops the running or waiting reply: its model call ends, the text so far is kept. Does nothing if there is none.',
  }),
};
