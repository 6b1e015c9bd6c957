/** The parts of peers' responses that are read. */
import { Type, type Static } from 'typebox';
import { Nullable } from './schema-kit.ts';

/** The parts of a peer's task that are read, in either dialect; anything else is ignored. */
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
 * Usage in the `metadata` of a task, as reported by a service like this one: in the protocol's spelling, or in snake_case as
 * in earlier releases.
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
/** Wrapped under a name in 1.0, bare in 0.3. */
export const PeerReply = Type.Object({ message: PeerMessage });
export const PeerBareMessage = PeerMessage;
