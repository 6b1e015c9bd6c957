import { AdapterError } from '@acp/adapters';

/** A run that fails for a reason its owner is told; everything else is `internal` and told to the log only. */
export class RunFailure extends Error {
  readonly category: string;
  /** Of a used-up quota: when it is there again, where known. */
  readonly reset_at: Date | undefined;

  constructor(category: string, message: string, details: { reset_at?: Date | undefined } = {}) {
    super(message);
    this.name = 'RunFailure';
    this.category = category;
    this.reset_at = details.reset_at;
  }
}

/** The failure behind what an adapter threw. */
export function failureOf(err: unknown): RunFailure {
  if (err instanceof RunFailure) return err;
  if (err instanceof AdapterError) return new RunFailure(err.category, err.message, err);
  const failure = new RunFailure('internal', 'internal error');
  failure.cause = err;
  return failure;
}
