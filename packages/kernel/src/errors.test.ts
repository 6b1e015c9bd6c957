import { describe, expect, it } from '@jest/globals';
import * as kernel from './index.ts';
import {
  errorKinds,
  httpStatusOf,
  methodNotAllowed,
  notFound,
  rateLimited,
  ServiceError,
  conflict,
  unavailable,
} from './index.ts';

describe('service errors', () => {
  it('gives every kind its own client or server status', () => {
    const statuses = errorKinds.map(httpStatusOf);
    expect(statuses).toEqual([400, 401, 403, 404, 405, 409, 413, 415, 429, 503]);
  });

  it('has a constructor for every kind', () => {
    const made = [
      kernel.invalid('m'),
      kernel.unauthenticated(),
      kernel.forbidden(),
      kernel.notFound(),
      kernel.methodNotAllowed([]),
      kernel.conflict('m'),
      kernel.tooLarge('m'),
      kernel.unsupported('m'),
      kernel.rateLimited('m', 1),
      kernel.unavailable('m'),
    ];
    expect(made.map((error) => error.kind)).toEqual([...errorKinds]);
    expect(made.every((error) => error instanceof ServiceError && error instanceof Error)).toBe(true);
  });

  it('carries what a door needs: further fields, Retry-After, Allow and the cause', () => {
    const cause = new Error('down');
    expect(notFound().message).toBe('not found');
    expect(conflict('taken', { held_by: 'x' }).extra).toEqual({ held_by: 'x' });
    expect(rateLimited('slow down', 7).retry_after_sec).toBe(7);
    expect(methodNotAllowed(['GET']).allow).toEqual(['GET']);
    expect(unavailable('later', cause).cause).toBe(cause);
    expect('cause' in notFound()).toBe(false);
  });
});
