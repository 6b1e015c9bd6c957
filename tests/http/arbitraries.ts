/** Random values for a JSON Schema of the contract: mostly valid, occasionally something else. */
import { newId } from '@acp/kernel';
import * as fc from 'fast-check';

type Schema = Record<string, unknown>;

const nastyText = fc.constantFrom(
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\u202e',
  "'; drop table issues; --",
  '%',
  '_',
  '\\',
  '${secret:A}',
  '@"Nobody"',
  '../../etc/passwd',
  '00000000-0000-0000-0000-000000000000',
  '9'.repeat(30),
  'x'.repeat(600),
);
/** Half-surrogates are no characters of their own. */
const SURROGATES = { first: 0xd800, count: 0x800 };

/** Any character. Fast-check's own, `unit: 'binary'`, keeps a list of all: a second of work, and 185 MB in each worker of jest. */
export const character = fc.integer({ min: 0, max: 0x10ffff - SURROGATES.count }).map(
  (index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count),
  (value) => {
    const point = typeof value === 'string' ? (value.codePointAt(0) ?? 0) : 0;
    if (String.fromCodePoint(point) !== value) throw new TypeError('not a character');
    return point < SURROGATES.first ? point : point - SURROGATES.count;
  },
);

const text = fc.oneof(fc.string({ unit: character, maxLength: 40 }), nastyText);
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  nastyText,
  fc.constantFrom(0, -1, 1.5, 2 ** 31, 2 ** 53, 1e300),
);

// Made once, as making one takes fast-check milliseconds.
const slug = fc.stringMatching(/^[a-z0-9]{1,20}$/);
const dictionary = fc.dictionary(text, anything, { maxKeys: 3 });

/** @param ids candidates for UUIDs besides an unknown one: rows of the caller's company and of another. */
export function arbitraryOf(schema: Schema, ids: readonly string[]): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 8, arbitrary: validOf(schema, ids) }, { weight: 1, arbitrary: anything });
}

export function validOf(schema: Schema, ids: readonly string[]): fc.Arbitrary<unknown> {
  const variants = schema.anyOf as Schema[] | undefined;
  if (variants) return fc.oneof(...variants.map((variant) => arbitraryOf(variant, ids)));
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]));
  switch (schema.type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return integer(schema);
    case 'string':
      return string(schema, ids);
    case 'array':
      return fc.array(arbitraryOf(schema.items as Schema, ids), { maxLength: 4 });
    case 'object':
      return object(schema, ids);
    default:
      return anything;
  }
}

function integer({ minimum, maximum }: Schema): fc.Arbitrary<unknown> {
  const min = typeof minimum === 'number' ? minimum : -(2 ** 53);
  const max = typeof maximum === 'number' ? maximum : 2 ** 53;
  return fc.oneof(
    fc.integer({ min: Math.max(min, -(2 ** 31)), max: Math.min(max, 2 ** 31 - 1) }),
    fc.constantFrom(min, max),
  );
}

function string({ format, pattern }: Schema, ids: readonly string[]): fc.Arbitrary<unknown> {
  if (format === 'uuid') return fc.oneof(fc.constantFrom(...ids), fc.uuid());
  if (format === 'email') return fc.constant(`${newId()}@test.example`);
  if (typeof pattern === 'string' && pattern.includes('a-z0-9')) return slug;
  return text;
}

function object({ properties, required }: Schema, ids: readonly string[]): fc.Arbitrary<unknown> {
  if (typeof properties !== 'object' || properties === null) return dictionary;
  const model = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, arbitraryOf(schema as Schema, ids)]),
  );
  const requiredKeys = (Array.isArray(required) ? required : []) as string[];
  // Occasionally a required field is missing.
  return fc.oneof(
    { weight: 6, arbitrary: fc.record(model, { requiredKeys }) },
    { weight: 1, arbitrary: fc.record(model, { requiredKeys: [] }) },
  );
}
