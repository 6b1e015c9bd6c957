import { describe, expect, it } from '@jest/globals';
import { outsideValidator } from './outside-schema.ts';

const broken = 'the input schema of the tool can’t be used: its provider has to mend it';

describe('an outside schema', () => {
  it('lets through what it describes and says of other input where it is wrong', () => {
    const validate = outsideValidator(
      {
        type: 'object',
        properties: { n: { type: 'integer' }, pattern: { type: 'string' } },
        required: ['n'],
      },
      { owner: 'decent' },
    );
    expect(validate({ n: 1, pattern: 'p' })).toEqual({ n: 1, pattern: 'p' });
    expect(() => validate({ n: 'one' })).toThrow('input.n must be integer');
    expect(() => validate({})).toThrow("input must have required property 'n'");
  });

  it.each([
    ['a pattern that backtracks', { pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`],
    [
      'patterns of names that backtrack',
      { patternProperties: { '^(a+)+$': true } },
      { [`${'a'.repeat(40)}!`]: 1 },
    ],
    [
      'references that multiply',
      {
        $ref: '#/$defs/a',
        $defs: Object.fromEntries(
          Array.from({ length: 26 }, (_each, at) => String.fromCodePoint(97 + at)).map((name, at, all) => {
            const next = { $ref: `#/$defs/${all[at + 1] ?? 'z'}` };
            return [name, name === 'z' ? { type: 'string' } : { anyOf: [next, next, next] }];
          }),
        ),
      },
      1,
    ],
  ])('with %s is given up in time', (_, schema, input) => {
    expect(() => outsideValidator(schema, { owner: JSON.stringify(schema) })(input)).toThrow(broken);
  });

  it('that declares itself asynchronous checks like any other, and leaves no promise behind', () => {
    const schema = { $async: true, type: 'object', properties: { n: { type: 'integer' } } };
    const validate = outsideValidator(schema, { owner: 'asynchronous' });
    expect(validate({ n: 1 })).toEqual({ n: 1 });
    expect(() => validate({ n: 'one' })).toThrow('input.n must be integer');
    const inside = { properties: { n: { $async: true, type: 'integer' } } };
    expect(() => outsideValidator(inside, { owner: 'asynchronous' })({ n: 'one' })).toThrow(broken);
  });

  it('names the values that it allows, whatever they are', () => {
    const values: unknown[] = [
      'one',
      2,
      null,
      { toString: 'no function' },
      { toString: null, valueOf: null },
    ];
    const validate = outsideValidator({ enum: values }, { owner: 'any values' });
    expect(() => validate(1)).toThrow(
      'one of the allowed values: one, 2, null, {"toString":"no function"}, {"toString":null,"valueOf":null}',
    );
  });

  it('takes input of a megabyte, and no more', () => {
    const validate = outsideValidator({ type: 'object' }, { owner: 'roomy' });
    const room = 1_048_576 - JSON.stringify({ text: '' }).length;
    expect(validate({ text: 'x'.repeat(room) })).toMatchObject({});
    expect(() => validate({ text: 'x'.repeat(room + 1) })).toThrow('input is too long');
  });

  it('that holds long input against many values is done in time, or given up', () => {
    const items = { enum: Array.from({ length: 2000 }, (_, n) => `value ${n}`) };
    const validate = outsideValidator({ type: 'array', items }, { owner: 'long' });
    const input = Array.from({ length: 5000 }, () => 'value 1999');
    const outcome = () => {
      try {
        return validate(input) === input;
      } catch (err) {
        return (err as Error).message;
      }
    };
    expect([true, broken]).toContain(outcome());
  });

  it('that was given up again and again is refused unseen, with the others of its owner alone', () => {
    const schema = { pattern: '^(a+)+$' };
    const [tried, other] = [schema, { type: 'string', pattern: '^b' }].map((each) =>
      outsideValidator(each, { owner: 'slow' }),
    );
    const hard = `${'a'.repeat(40)}!`;
    const seen = new Set<string>();
    // Each call is interrupted by the clock, so on a busy machine it has received less CPU time by then.
    for (let call = 0; call < 500 && seen.size < 2; call += 1)
      try {
        tried!(hard);
      } catch (error) {
        seen.add((error as Error).message);
      }
    expect([...seen]).toEqual([broken, 'the input schemas of the tools take too long to check']);
    expect(() => other!('b')).toThrow('take too long to check');
    expect(outsideValidator({ pattern: '^b' }, { owner: 'another' })('b')).toBe('b');
  });
});
