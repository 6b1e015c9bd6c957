/** What came through a channel, in one shape for all vendors, as it waits to be dealt with. */
import { Type, type Static } from 'typebox';
import { Nullable, OneOf } from './schema-kit.ts';

const id = Type.String({ minLength: 1, maxLength: 200 });

export const ChannelFile = Type.Object({
  /** Where the vendor has it: an id, or an address of its own. */
  source: Type.String({ minLength: 1, maxLength: 2000 }),
  name: Type.String({ maxLength: 255 }),
  content_type: Type.String({ maxLength: 255 }),
  size_bytes: Nullable(Type.Integer()),
});
export type ChannelFile = Static<typeof ChannelFile>;

export const ChannelIncoming = Type.Object({
  kind: OneOf(['message', 'press']),
  /** The vendor's number of it: it comes again with the same. */
  external_id: id,
  person: Type.Object({ id, name: Type.String({ maxLength: 200 }) }),
  conversation: id,
  /** '' outside of threads. */
  thread: Type.String({ maxLength: 200 }),
  /** Of a conversation of several people. */
  title: Type.String({ maxLength: 200 }),
  is_private: Type.Boolean(),
  message_id: id,
  text: Type.String(),
  files: Type.Array(ChannelFile, { maxItems: 10 }),
  /** Of a pressed button: what it stands for, and what the vendor wants answered. */
  press: Nullable(
    Type.Object({ value: Type.String({ maxLength: 200 }), callback: Type.String({ maxLength: 300 }) }),
  ),
});
export type ChannelIncoming = Static<typeof ChannelIncoming>;

/** What a person sent before a button was pressed is told by its value: the message that has it, and the decision. */
export const channelDecisions = ['approve', 'reject'] as const;
export type ChannelDecision = (typeof channelDecisions)[number];
