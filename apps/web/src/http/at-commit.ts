/**
 * A handler's result that its transaction does not wait for: the statement it comes from travels with the commit, and the answer
 * is built after that. With an `Idempotency-Key`, which stores the answer in the same transaction, it is waited for.
 */
export class AtCommit<T> {
  readonly result: Promise<T>;

  constructor(result: Promise<T>) {
    this.result = result;
  }
}
