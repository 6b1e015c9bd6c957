/** A company's connections to Slack and Telegram, and the people who are paired with them. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { knowledgeTypes } from './knowledge.ts';
import { Nullable, OneOf, PageQuery, Patch, SearchQuery, Timestamp, Uuid } from './schema-kit.ts';
import { SECRET_NAME } from './secrets.ts';

export const channelKinds = ['slack', 'telegram'] as const;
export type ChannelKind = (typeof channelKinds)[number];

/** `refused`: the vendor rejects the tokens; `failing`: it can't be reached, or not reliably. */
export const channelStatuses = ['connecting', 'connected', 'failing', 'refused'] as const;
export type ChannelStatus = (typeof channelStatuses)[number];

/** What prompts in a channel's chats may contain: passages by source type, and the company's compiled index. */
export const channelKnowledge = [...knowledgeTypes, 'index'] as const;
export type ChannelKnowledge = (typeof channelKnowledge)[number];

/** What a paired person can subscribe to; `alerts` reach admins only. */
export const channelNews = ['approvals', 'attention', 'alerts'] as const;
export type ChannelNews = (typeof channelNews)[number];

export const Channel = Type.Object({
  id: Uuid,
  company_id: Uuid,
  name: Type.String(),
  kind: OneOf(channelKinds),
  /** As entered: secrets are referenced by name. */
  bot_token: Type.String(),
  /** For Slack's socket mode. */
  app_token: Nullable(Type.String()),
  /** The agent that answers unless another one has been chosen. */
  default_agent_id: Nullable(Uuid),
  /** Vendor ids of the group conversations in which the bot answers. */
  groups: Type.Array(Type.String()),
  /** Other group conversations that recently addressed the bot. */
  refused_groups: Type.Array(Type.Object({ id: Type.String(), title: Type.String() })),
  /** What prompts in its chats may contain; set on the channel's page. */
  knowledge: Type.Array(OneOf(channelKnowledge)),
  enabled: Type.Boolean(),
  status: OneOf(channelStatuses),
  last_error: Nullable(Type.String()),
  failing_since: Nullable(Timestamp),
  /** The bot's name at the vendor. */
  bot_name: Nullable(Type.String()),
  /** When the vendor last sent anything, including keep-alives. */
  last_seen_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Channel = Static<typeof Channel>;

/** A person of the company who may talk to its agents through the channel. */
export const ChannelPerson = Type.Object({
  id: Uuid,
  channel_id: Uuid,
  user_id: Uuid,
  user_name: Type.String(),
  external_id: Type.String(),
  /** The person's name at the vendor. */
  external_name: Type.String(),
  notify: Type.Array(OneOf(channelNews)),
  created_at: Timestamp,
});
export type ChannelPerson = Static<typeof ChannelPerson>;

/** A channel of one of the caller's companies, with the caller's own pairing. */
export const MyChannel = Type.Object({
  id: Uuid,
  company_id: Uuid,
  company_name: Type.String(),
  name: Type.String(),
  kind: OneOf(channelKinds),
  bot_name: Nullable(Type.String()),
  pairing: Nullable(Type.Omit(ChannelPerson, ['channel_id', 'user_id', 'user_name'])),
});
export type MyChannel = Static<typeof MyChannel>;

/** Pairs the person it was created for when that person sends it to the bot. Shown only once. */
export const PairingCode = Type.Object({
  channel_id: Uuid,
  code: Type.String(),
  expires_at: Timestamp,
  /** Opens Telegram with the code filled in; null where that isn't possible. */
  link: Nullable(Type.String()),
});
export type PairingCode = Static<typeof PairingCode>;

const name = Type.String({ maxLength: 50, pattern: '^[a-z0-9]+([_-][a-z0-9]+)*$' });
const token = Type.String({ maxLength: 120, pattern: `^\\$\\{secret:${SECRET_NAME}\\}$` });
const groups = Type.Array(Type.String({ pattern: '^[A-Za-z0-9-]{1,40}$' }), {
  maxItems: 100,
  uniqueItems: true,
});
const settable = {
  name,
  bot_token: token,
  app_token: Nullable(token),
  default_agent_id: Nullable(Uuid),
  groups,
  enabled: Type.Boolean(),
};

export const CreateChannel = Type.Object({
  ...Patch(settable).properties,
  name,
  kind: OneOf(channelKinds),
  bot_token: token,
});
export type CreateChannel = Static<typeof CreateChannel>;
export const UpdateChannel = Patch(settable);
export type UpdateChannel = Static<typeof UpdateChannel>;

const notify = Type.Array(OneOf(channelNews), { maxItems: channelNews.length, uniqueItems: true });

const admin = { auth: BEARER, role: 'admin' } as const;
const ofCompany = {
  ...admin,
  path: '/api/companies/{companyId}/channels',
  scope: { by: 'company', param: 'companyId' },
} as const;
const one = {
  ...admin,
  path: '/api/channels/{channelId}',
  scope: { by: 'channel', param: 'channelId' },
} as const;
/** A person's own records: sessions only. */
const own = { auth: ['user'], role: 'none', scope: { by: 'none' } } as const;

export const channelEndpoints = {
  list: endpoint({
    ...ofCompany,
    id: 'channels.list',
    method: 'GET',
    query: Type.Object(SearchQuery),
    response: Type.Array(Channel),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The company’s channels, newest first, with their state; never the value of a token.',
  }),
  create: endpoint({
    ...ofCompany,
    id: 'channels.create',
    method: 'POST',
    body: CreateChannel,
    response: Channel,
    status: 201,
    tx: 'write',
    example: { name: 'telegram', kind: 'telegram', bot_token: '${secret:TELEGRAM_BOT_TOKEN}' },
    doc: 'Adds a channel; a scheduler connects it within seconds. Tokens are secrets by name: Telegram’s bot token, or Slack’s bot and app-level token. 409 where the name is taken.',
  }),
  get: endpoint({
    ...one,
    id: 'channels.get',
    method: 'GET',
    response: Channel,
    status: 200,
    tx: 'none',
    doc: 'The channel, with its state.',
  }),
  update: endpoint({
    ...one,
    id: 'channels.update',
    method: 'PATCH',
    body: UpdateChannel,
    response: Channel,
    status: 200,
    tx: 'write',
    example: { groups: ['-1001234567890'], enabled: true },
    doc: 'Changes a channel; with other tokens it reconnects. What its prompts may contain is set only on its page.',
  }),
  delete: endpoint({
    ...one,
    id: 'channels.delete',
    method: 'DELETE',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Deletes a channel permanently, with its pairings and unsent messages. Its chats are kept.',
  }),
  test: endpoint({
    ...one,
    path: '/api/channels/{channelId}/test',
    id: 'channels.test',
    method: 'POST',
    response: null,
    status: 204,
    tx: 'write',
    people_only: true,
    doc: 'Sends the caller a message through the channel. 409 if the caller is not paired with it, or it is disabled.',
  }),
  listPeople: endpoint({
    ...one,
    path: '/api/channels/{channelId}/people',
    id: 'channels.list-people',
    method: 'GET',
    query: Type.Object(PageQuery),
    response: Type.Array(ChannelPerson),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'People paired with the channel, newest first.',
  }),
  removePerson: endpoint({
    ...one,
    path: '/api/channels/{channelId}/people/{userId}',
    id: 'channels.remove-person',
    method: 'DELETE',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Ends the person’s pairing with the channel immediately.',
  }),
  listMine: endpoint({
    ...own,
    id: 'channels.list-mine',
    method: 'GET',
    path: '/api/me/channels',
    response: Type.Array(MyChannel),
    status: 200,
    tx: 'none',
    doc: 'Enabled channels of the caller’s companies, with the caller’s pairings.',
  }),
  pair: endpoint({
    ...own,
    id: 'channels.pair',
    method: 'POST',
    path: '/api/me/channels/{channelId}/code',
    response: PairingCode,
    status: 201,
    tx: 'write',
    issues_secret: 'code',
    doc: 'A code that pairs the caller when sent to the bot within 10 minutes, once; a new code replaces the previous one. Requires a sign-in within the last 15 minutes, otherwise 403.',
  }),
  notify: endpoint({
    ...own,
    id: 'channels.notify',
    method: 'PUT',
    path: '/api/me/channels/{channelId}/notify',
    body: Type.Object({ notify }),
    response: MyChannel,
    status: 200,
    tx: 'write',
    example: { notify: ['approvals'] },
    doc: 'Sets the caller’s notifications through the channel. 404 if the caller is not paired with it.',
  }),
  unpair: endpoint({
    ...own,
    id: 'channels.unpair',
    method: 'DELETE',
    path: '/api/me/channels/{channelId}',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Ends the caller’s pairing with the channel immediately.',
  }),
};
