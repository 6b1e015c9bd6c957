import { createValidator, isTopic, Nullable, Uuid } from '@acp/contract';
import type { TranscriptRange } from '@acp/core';
import { Type } from 'typebox';

const parse = createValidator(
  Type.Object({
    run_id: Uuid,
    company_id: Uuid,
    topic: Nullable(Type.String()),
    admins_only: Type.Boolean(),
    from: Type.Integer(),
    to: Type.Integer(),
  }),
  'transcript range',
);

/** Items of the `transcripts` channel. What is no range ('*': there were too many) is passed over: clients fill gaps. */
export function parseRanges(items: readonly string[]): TranscriptRange[] {
  return items.flatMap((item) => {
    try {
      const range = parse(JSON.parse(item));
      return [{ ...range, topic: range.topic !== null && isTopic(range.topic) ? range.topic : null }];
    } catch {
      return [];
    }
  });
}
