import { createValidator } from '@acp/contract';
import type { EndpointRow } from '@acp/contract';

/**
 * Tests check each answer against its row. Objects are closed for that: a field that the contract does not know may be a
 * column that was never meant to be shown.
 */
export function responseCheck(row: EndpointRow): (text: string) => void {
  let check = checks.get(row);
  if (check === undefined) checks.set(row, (check = checkOf(row)));
  return check;
}

/** One process of tests has many applications, and compiling a closed schema takes longer than most requests. */
const checks = new WeakMap<EndpointRow, (text: string) => void>();

function checkOf(row: EndpointRow): (text: string) => void {
  const validate = createValidator(closed(row.response) as object, 'response');
  return (text) => {
    const problem = problemOf(() => validate(JSON.parse(text)));
    // An error of ours, not the validator's ServiceError: the caller did nothing wrong.
    if (problem !== null)
      throw new Error(`${row.id} answered with a body that does not match its schema: ${problem}`);
  };
}

function problemOf(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return 'properties' in copy ? { additionalProperties: false, ...copy } : copy;
}
