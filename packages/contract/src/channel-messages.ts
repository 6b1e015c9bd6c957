/** An incoming channel message in one shape for all vendors, as it waits to be processed. */
import { Type, type Static } from 'typebox';
import { Nullable, OneOf } from './schema-kit.ts';

const id = Type.String({ minLength: 1, maxLength: 200 });

export const ChannelFile = Type.Object({
  /** The vendor's reference to the file: an id or a URL. */
  source: Type.String({ minLength: 1, maxLength: 2000 }),
  name: Type.String({ maxLength: 255 }),
  content_type: Type.String({ maxLength: 255 }),
  size_bytes: Nullable(Type.Integer()),
});
export type ChannelFile = Static<typeof ChannelFile>;

export const ChannelIncoming = Type.Object({
  kind: OneOf(['message', 'press']),
  /** The vendor's message id; redeliveries have the same one. */
  external_id: id,
  person: Type.Object({ id, name: Type.String({ maxLength: 200 }) }),
  conversation: id,
  /** '' outside of threads. */
  thread: Type.String({ maxLength: 200 }),
  /** Title of a group conversation. */
  title: Type.String({ maxLength: 200 }),
  is_private: Type.Boolean(),
  message_id: id,
  text: Type.String(),
  files: Type.Array(ChannelFile, { maxItems: 10 }),
  /** For a pressed button: its value, and what the vendor expects as a response. */
  press: Nullable(
    Type.Object({ value: Type.String({ maxLength: 200 }), callback: Type.String({ maxLength: 300 }) }),
  ),
});
export type ChannelIncoming = Static<typeof ChannelIncoming>;

/** A button's value identifies the decision and the message that contains it. */
export const channelDecisions = ['approve', 'reject'] as const;
export type ChannelDecision = (typeof channelDecisions)[number];
