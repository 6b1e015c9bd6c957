/** What agents of peers answer, as far as it is read. */
import { Type, type Static } from 'typebox';
import { Nullable } from './schema-kit.ts';

/** What is read of a task of a peer, in either dialect; whatever else it has is left alone. */
const ContextId = Type.Optional(Nullable(Type.String({ maxLength: 1000 })));
const PeerPart = Type.Object({
  text: Type.Optional(Type.String()),
  data: Type.Optional(Type.Unknown()),
  url: Type.Optional(Type.String()),
  file: Type.Optional(Type.Object({ uri: Type.Optional(Type.String()) })),
});
const PeerMessage = Type.Object({
  messageId: Type.Optional(Type.String()),
  contextId: ContextId,
  parts: Type.Array(PeerPart, { maxItems: 1000 }),
});
export type PeerMessage = Static<typeof PeerMessage>;
export const PeerTask = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 500 }),
  contextId: ContextId,
  status: Type.Object({
    state: Type.String({ maxLength: 100 }),
    message: Type.Optional(Nullable(PeerMessage)),
  }),
  metadata: Type.Optional(Nullable(Type.Object({ usage: Type.Optional(Type.Unknown()) }))),
  artifacts: Type.Optional(
    Nullable(
      Type.Array(
        Type.Object({
          artifactId: Type.Optional(Type.String()),
          name: Type.Optional(Nullable(Type.String())),
          parts: Type.Array(PeerPart, { maxItems: 1000 }),
        }),
        { maxItems: 1000 },
      ),
    ),
  ),
});
export type PeerTask = Static<typeof PeerTask>;

/** What the work on a task has cost. */
export interface TaskUsage {
  cost_usd: number;
  input_tokens: number;
  output_tokens: number;
}
const Amount = Type.Optional(Type.Number({ minimum: 0 }));
/**
 * As a service like this one says it in the `metadata` of the task: in the protocol's spelling, or in snake_case, as
 * earlier releases did.
 */
export const PeerUsage = Type.Object({
  costUsd: Amount,
  cost_usd: Amount,
  inputTokens: Amount,
  input_tokens: Amount,
  outputTokens: Amount,
  output_tokens: Amount,
});
export const PeerAnswer = Type.Object({
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Object({ code: Type.Number(), message: Type.Optional(Type.String()) })),
});
/** In 1.0 under its name, in 0.3 bare. */
export const PeerReply = Type.Object({ message: PeerMessage });
export const PeerBareMessage = PeerMessage;
