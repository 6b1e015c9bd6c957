import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { decodeCursor, encodeCursor, ServiceError, type CursorField } from './index.ts';

const forge = (json: string) => Buffer.from(json).toString('base64url');
function failureOf(act: () => unknown): Error | null {
  try {
    act();
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error('thrown without an Error');
  }
}

const sortValue = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !text.includes('\0')),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
  fc.constant(null),
);

describe('cursors', () => {
  it('come back as the values that they were made of', () => {
    fc.assert(
      fc.property(fc.array(sortValue, { maxLength: 5 }), (values) => {
        expect(decodeCursor(encodeCursor(values), values.length)).toEqual(values);
      }),
    );
  });

  it('fit into a URL as they are', () => {
    fc.assert(fc.property(fc.array(sortValue), (values) => expect(encodeCursor(values)).toMatch(/^[\w-]+$/)));
  });

  it('give invalid, and nothing worse, for any text whatever', () => {
    const shapes = fc.constantFrom<number | CursorField[]>(
      0,
      1,
      2,
      ['timestamp', 'uuid'],
      ['text?', 'integer'],
    );
    const texts = fc.oneof(fc.string(), fc.base64String(), fc.json().map(forge));
    fc.assert(
      fc.property(texts, shapes, (text, shape) => {
        const error = failureOf(() => decodeCursor(text, shape));
        expect(error === null || error instanceof ServiceError).toBe(true);
        expect(error?.message ?? 'invalid cursor').toBe('invalid cursor');
      }),
    );
  });

  it.each([
    ['another number of values', encodeCursor(['a']), 2],
    ['an empty text', '', 0],
    ['no JSON', forge('[1'), 1],
    ['an object', forge('{"length":1}'), 1],
    ['a nested array', forge('[[1]]'), 1],
    ['a boolean', forge('[true]'), 1],
    ['an infinite number', forge('[1e999]'), 1],
    ['a NUL character', forge('["a\\u0000"]'), 1],
    ['an endless text', encodeCursor(['x'.repeat(5000)]), 1],
    ['plain base64', 'WyJhIl0=', 1],
  ])('refuse %s', (_what, cursor, arity) => {
    expect(() => decodeCursor(cursor, arity)).toThrow('invalid cursor');
  });

  it.each<[CursorField, string | number | null, boolean]>([
    ['timestamp', '2026-11-21T00:00:00.123456Z', true],
    ['timestamp', '2026-02-30T00:00:00Z', false],
    ['timestamp', null, false],
    ['timestamp?', null, true],
    ['uuid', '3f1f6c1e-0d5c-4c4b-9f43-5a3a8d0b7f11', true],
    ['uuid', 'x', false],
    ['integer', 12, true],
    ['integer', -(2 ** 31), true],
    ['integer', 2 ** 31, false],
    ['integer', 1.5, false],
    ['integer', '12', false],
    ['integer?', null, true],
    ['text', 'a', true],
    ['text', 1, false],
    ['text?', null, true],
    ['any', null, true],
  ])('hold a field of kind %s to its kind: %p', (field, value, fits) => {
    const error = failureOf(() => decodeCursor(encodeCursor([value]), [field]));
    expect(error === null).toBe(fits);
  });
});
