import { AdapterError } from '@acp/adapters';
import { CANCELLED, LOST_CATEGORY, type RunFault } from '@acp/core';
import { storableText } from '@acp/kernel';
import type { Logger, Scrubber } from '@acp/kernel';
import { RunStopped } from './held-run.ts';
import { transientTrouble } from './retry-transient.ts';

/** A failure whose reason is shown to the run's owner; any other is `internal` and goes to the log only. */
export class RunFailure extends Error {
  readonly category: string;
  /** When an exhausted quota is available again, if known. */
  readonly reset_at: Date | undefined;

  constructor(category: string, message: string, details: { reset_at?: Date | undefined } = {}) {
    super(message);
    this.name = 'RunFailure';
    this.category = category;
    this.reset_at = details.reset_at;
  }
}

/**
 * Maps anything thrown on the way to its failure. Transient trouble of the database or the store marks the run as lost, so that it is
 * retried if nothing was done yet.
 */
export function failureOf(err: unknown): RunFailure {
  if (err instanceof RunFailure) return err;
  if (err instanceof RunStopped) return new RunFailure(CANCELLED, 'cancelled');
  if (err instanceof AdapterError) return new RunFailure(err.category, err.message, err);
  const trouble = transientTrouble(err);
  const failure = trouble
    ? new RunFailure(LOST_CATEGORY, `run lost: ${trouble.message}`)
    : new RunFailure('internal', 'internal error');
  failure.cause = err;
  return failure;
}

/** The failure in stored form: storable and without secrets; the underlying error goes to the log. */
export function faultOf(
  failure: RunFailure | null,
  { scrubber, logger, run_id }: { scrubber: Scrubber; logger: Logger; run_id: string },
): RunFault | null {
  if (failure === null) return null;
  const { category, message, cause, reset_at } = failure;
  if (cause !== undefined) logger.error('a run failed', { run_id, error: cause });
  return { category, message: storableText(scrubber.scrub(message)), reset_at };
}
