import { verbLine } from '@acp/contract';
import type { ClaimedRun, RehearsedVerb } from '@acp/core';
import { asServiceError } from '@acp/db';
import { bounded } from '@acp/kernel';
import { assertPermitted } from './apply.ts';
import { parse } from './parse.ts';
import { rowOf } from './resolve.ts';

/** More than any sane run has. */
const MOST = 200;
const LINE = 1000;

/**
 * Parses the verbs of a text as a run would without applying them, and reports what can be checked beforehand. Words that
 * look like a verb but are none are included.
 */
export function rehearse(run: ClaimedRun, text: string): RehearsedVerb[] {
  const { actions, unknown } = parse(text, 1);
  const read = actions.slice(0, MOST).map((action): RehearsedVerb => {
    const line = bounded(verbLine({ verb: action.verb, args: { line: action.rest } }), LINE);
    try {
      assertPermitted({ run, action, row: rowOf(action.verb), applies: () => true });
      return { line, error: null };
    } catch (err) {
      const refusal = asServiceError(err);
      if (refusal === null) throw err;
      return { line, error: refusal.message };
    }
  });
  return [...read, ...unknown.map(({ word, reason }) => ({ line: `/${word}`, error: reason }))];
}
