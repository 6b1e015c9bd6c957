import { AdapterError, type AdapterErrorCategory } from '../adapter-error.ts';
import type { ProgramEnd } from '../process/run-program.ts';
import { cut, lastOf } from './fields.ts';

const LONGEST = 2000;

/** Classified by the HTTP status that the CLI reports, or else by its wording. */
export function failureOf(message: string, status: number | null): AdapterError {
  return new AdapterError(
    categoryOf(message, status),
    cut(message, LONGEST),
    status === null ? {} : { status },
  );
}

function categoryOf(message: string, status: number | null): AdapterErrorCategory {
  if (status === 401 || status === 403 || /not logged in|invalid api key|unauthorized/i.test(message))
    return 'auth';
  if (status === 402 || /usage limit|quota|credit balance/i.test(message)) return 'quota';
  if (status === 404) return 'config';
  if (status === 408 || status === 429 || (status !== null && status >= 500)) return 'transient';
  return 'permanent';
}

/** Why the program was ended, if it was. Otherwise the end of its stderr, or its exit code or signal. */
export function failureOfEnd(name: string, { code, signal, stderr, too_much }: ProgramEnd): AdapterError {
  if (too_much !== undefined) return new AdapterError('permanent', `${name} was ended: ${too_much}`);
  const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
  const said = stderr.trim();
  // The reason is usually in the last words, so the beginning is cut.
  const message = `${name} ended with ${how}${said === '' ? '' : `: ${lastOf(said, LONGEST)}`}`;
  return new AdapterError(categoryOf(message, null), message);
}
