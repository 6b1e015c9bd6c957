import { createValidator, isTopic, Nullable, Uuid } from '@acp/contract';
import { Type } from 'typebox';
import type { TranscriptRange } from './read-ranges.ts';

const parse = createValidator(
  Type.Object({
    run_id: Uuid,
    company_id: Uuid,
    topic: Nullable(Type.String()),
    admins_only: Type.Boolean(),
    /** Absent from schedulers of the previous release, which has no private runs. */
    private_to_user_id: Type.Optional(Nullable(Uuid)),
    from: Type.Integer(),
    to: Type.Integer(),
  }),
  'transcript range',
);

/** Items of the `transcripts` channel. Anything but a range ('*': there were too many) is skipped: clients fill gaps. */
export function parseRanges(items: readonly string[]): TranscriptRange[] {
  return items.flatMap((item) => {
    try {
      const range = parse(JSON.parse(item));
      const { private_to_user_id = null } = range;
      return [
        {
          ...range,
          private_to_user_id,
          topic: range.topic !== null && isTopic(range.topic) ? range.topic : null,
        },
      ];
    } catch {
      return [];
    }
  });
}
