import { ServiceError } from './errors.ts';

const MAX_DEPTH = 8;

/**
 * An error in one line for operators, such as `storage unavailable: ENOSPC: no space left on device, write`: the sentence of
 * ours, if there is one, and the error that started it. Whatever wraps that is left out: drizzle's quotes the values of the
 * statement.
 */
export function explainError(error: unknown): string {
  const root = rootOf(error);
  const reason = root instanceof Error ? wordsOf(root) : String(root);
  return error instanceof ServiceError && error !== root ? `${error.message}: ${reason}` : reason;
}

/** Whether the error comes from outside of the program: from the system, the network, PostgreSQL. */
export function isFromOutside(error: unknown): boolean {
  const root = rootOf(error);
  return root instanceof Error && !isOwn(root) && codeOf(root) !== undefined;
}

function rootOf(error: unknown): unknown {
  let root = error;
  for (let depth = 0; depth < MAX_DEPTH && root instanceof Error; depth += 1) {
    // One attempt per address of a host: each failed, and the first one says as much as all.
    const inner: unknown = root instanceof AggregateError ? root.errors[0] : root.cause;
    if (inner === undefined) return root;
    root = inner;
  }
  return root;
}

/** Errors of Node.js's own functions, which are our mistakes. */
const isOwn = (error: Error): boolean => codeOf(error)?.startsWith('ERR_') === true;

const codeOf = (error: Error): string | undefined =>
  'code' in error && typeof error.code === 'string' ? error.code : undefined;

function wordsOf(error: Error): string {
  const named = error instanceof ServiceError || error.name === 'Error' || codeOf(error) !== undefined;
  return named ? error.message : `${error.name}: ${error.message}`;
}
