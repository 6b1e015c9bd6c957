import { describe, expect, it } from '@jest/globals';
import { Type } from 'typebox';
import { Nullable, Timestamp, Uuid } from './schema-kit.ts';
import { createValidator } from './validator.ts';

const ID = '8d7ac1c8-4ab1-4e5e-9d0c-2f0a1f1c6b11';

describe('what PostgreSQL could not store', () => {
  const [id, instant] = [createValidator(Uuid, 'body'), createValidator(Timestamp, 'body')];

  it('is no id, in whatever other spelling', () => {
    for (const text of [ID, ID.toUpperCase()]) expect(id(text)).toBe(text);
    for (const text of [`urn:uuid:${ID}`, `{${ID}}`, ID.replaceAll('-', ''), `${ID}\n`])
      expect(() => id(text)).toThrow('body must match format "uuid"');
  });

  it('is no instant: leap seconds, the year 0, and what lies beyond the year 9999', () => {
    for (const text of ['2026-11-21T10:00:00Z', '2026-11-21t10:00:00.123456+05:30', '0001-01-01T00:00:00Z'])
      expect(instant(text)).toBe(text);
    for (const text of [
      '2026-06-30T23:59:60Z',
      '0000-06-30T00:00:00Z',
      '0001-01-01T00:00:00+14:00',
      '9999-12-31T23:59:59-14:00',
      '2026-11-21T10:00:00+20:00',
      '2026-11-21T10:00:00+05',
      '2026-02-30T00:00:00Z',
    ])
      expect(() => instant(text)).toThrow('body must match format "date-time"');
  });
});

it('ids are read in lower case wherever they stand, and nothing else is', () => {
  const read = createValidator(
    Type.Object({
      id: Uuid,
      all: Type.Array(Type.Object({ id: Uuid })),
      none: Nullable(Uuid),
      some: Type.Optional(Nullable(Uuid)),
      title: Type.String(),
    }),
    'body',
  );
  const upper = ID.toUpperCase();
  expect(read({ id: upper, all: [{ id: upper }], none: null, some: upper, title: upper })).toEqual({
    id: ID,
    all: [{ id: ID }],
    none: null,
    some: ID,
    title: upper,
  });
});
