import { AdapterError } from '@acp/adapters';

/** A run that fails for a reason its owner is told; everything else is `internal` and told to the log only. */
export class RunFailure extends Error {
  readonly category: string;

  constructor(category: string, message: string) {
    super(message);
    this.name = 'RunFailure';
    this.category = category;
  }
}

/** The failure behind what an adapter threw. */
export function failureOf(err: unknown): RunFailure {
  if (err instanceof RunFailure) return err;
  if (err instanceof AdapterError) return new RunFailure(err.category, err.message);
  const failure = new RunFailure('internal', 'internal error');
  failure.cause = err;
  return failure;
}
