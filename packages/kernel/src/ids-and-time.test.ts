import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { isTimestamp, isUuid, newId } from './index.ts';

describe('ids', () => {
  it('makes distinct version 4 ids that it recognises in either case', () => {
    const ids = Array.from({ length: 100 }, newId);
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) {
      expect(id).toMatch(/^[0-9a-f-]{14}4/);
      expect(isUuid(id) && isUuid(id.toUpperCase())).toBe(true);
    }
  });

  it.each([
    '',
    'abc',
    '{00000000-0000-4000-8000-000000000000}',
    '00000000000040008000000000000000',
    ` ${newId()}`,
    `${newId()}\n`,
    7,
    null,
    undefined,
  ])('takes %p for no id', (value) => expect(isUuid(value)).toBe(false));
});

describe('timestamps', () => {
  it('takes every instant in its ISO form', () => {
    const instants = fc.date({
      min: new Date('0001-01-01'),
      max: new Date('9999-12-31'),
      noInvalidDate: true,
    });
    fc.assert(fc.property(instants, (date) => expect(isTimestamp(date.toISOString())).toBe(true)));
  });

  it.each([
    '2026-11-21T10:00:00Z',
    '2026-11-21 10:00:00.123456+00',
    '2026-11-21T10:00:00+05:30',
    '2026-11-21t10:00:00-0800',
    '2024-02-29T00:00:00Z',
  ])('takes %s', (text) => expect(isTimestamp(text)).toBe(true));

  it.each([
    '',
    '2026-11-21',
    '2026-11-21T10:00:00',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:00+99:00',
    'now',
    5,
    null,
  ])('takes %p for no timestamp', (value) => expect(isTimestamp(value)).toBe(false));
});
