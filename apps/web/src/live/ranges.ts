import { createValidator, Nullable, Uuid } from '@acp/contract';
import type { TranscriptRange } from '@acp/core';
import { Type } from 'typebox';

const parse = createValidator(
  Type.Object({
    run_id: Uuid,
    company_id: Uuid,
    issue_id: Nullable(Uuid),
    from: Type.Integer(),
    to: Type.Integer(),
  }),
  'transcript range',
);

/** Items of the `transcripts` channel. What is no range ('*': there were too many) is passed over: clients fill gaps. */
export function parseRanges(items: readonly string[]): TranscriptRange[] {
  return items.flatMap((item) => {
    try {
      return [parse(JSON.parse(item))];
    } catch {
      return [];
    }
  });
}
