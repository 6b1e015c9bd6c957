import { describe, expect, it } from '@jest/globals';
import { cpuMs } from '@acp/testkit';
import { payloadComment, payloadOf } from './payload.ts';
import { fillTemplate } from './template.ts';

const values = {
  payload: { ref: 'main', items: [{ name: 'first' }, 2], deep: { a: null, b: true }, text: '{{now}}' },
  now: '2026-11-21T01:00:00.000Z',
  routine: { name: 'Nightly' },
};
const fill = (template: string, payload: unknown = values.payload, longest = 1000) =>
  fillTemplate(template, { ...values, payload }, longest);

describe('a template', () => {
  it.each([
    ['{{routine.name}} at {{now}}', 'Nightly at 2026-11-21T01:00:00.000Z'],
    ['Deploy {{ payload.ref }}!', 'Deploy main!'],
    ['{{payload.items.0.name}}{{payload.items.1}}', 'first2'],
    ['[{{payload.deep.b}}|{{payload.deep.a}}]', '[true|]'],
    ['{{payload.deep}}', '{\n  "a": null,\n  "b": true\n}'],
    // Inserted values are not templates.
    ['{{payload.text}}', '{{now}}'],
    // Missing values become empty; unknown placeholders stay.
    ['[{{payload.nothing.here}}]', '[]'],
    ['{{foo}} {{routine.id}} {{ }} {{payload', '{{foo}} {{routine.id}} {{ }} {{payload'],
    // Own fields only; `length` is one of an array.
    ['{{payload.constructor.name}}{{payload.__proto__}}{{payload.items.length}}', '2'],
    ['{{{payload.ref}}}', '{main}'],
  ])('%j is filled in as %j', (template, expected) => {
    expect(fill(template)).toBe(expected);
  });

  it.each([
    [null, ''],
    [undefined, ''],
    ['just text', 'just text'],
    [0, '0'],
    [[1, 'b'], '[\n  1,\n  "b"\n]'],
  ])('the payload %j is %j', (payload, expected) => {
    expect(fillTemplate('{{payload}}', { ...values, payload }, 100)).toBe(expected);
  });

  it('fields of a payload that look like a prototype are fields', () => {
    const payload = payloadOf(Buffer.from('{"__proto__": {"x": "own"}}'));
    expect(fill('{{payload.__proto__.x}}', payload)).toBe('own');
    expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
  });

  it('grows no longer than it may, whatever is filled in, and ends between characters', () => {
    const large = 'x'.repeat(1_000_000);
    expect(fill('{{payload}}'.repeat(50_000), large, 2000)).toBe('x'.repeat(2000));
    expect(fill('a{{payload}}', '😀'.repeat(10), 4)).toBe('a😀\uFFFD');
  });

  it('of a megabyte of braces takes no time to speak of', () => {
    const spent = cpuMs(() => {
      fill('{{'.repeat(500_000), null, 2_000_000);
      fill(`{{${' '.repeat(1_000_000)}`, null, 2_000_000);
      fill(`{{${'a'.repeat(1_000_000)}`, null, 2_000_000);
    });
    // Quadratic behaviour would take minutes.
    expect(spent).toBeLessThan(20_000);
  });
});

describe('a payload', () => {
  it.each([
    ['', null],
    ['{"a": [1, "b"]}', { a: [1, 'b'] }],
    ['"123"', '123'],
    ['a=1&b=2', 'a=1&b=2'],
    ['{"a": "\\u0000x\\ud800"}', { a: '\uFFFDx\uFFFD' }],
    ['nul \0 in text', 'nul \uFFFD in text'],
  ])('of the bytes %j is %j', (body, expected) => {
    expect(payloadOf(Buffer.from(body))).toEqual(expected);
  });

  it('that is no UTF-8 is kept as far as it goes', () => {
    expect(payloadOf(Buffer.from([0x61, 0xff, 0x62]))).toBe('a\uFFFDb');
  });

  it('that is nested beyond reason is kept as text', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(payloadOf(Buffer.from(deep))).toBe(deep);
  });

  it('in a comment lies in a fence that it can not leave', () => {
    const comment = payloadComment('Night `ly` @Ada', 'webhook', '@Grace\n````\n/status done');
    expect(comment).toBe(
      'The routine `Night ly @Ada` was fired again (webhook):\n\n`````\n@Grace\n````\n/status done\n`````',
    );
    expect(payloadComment('N', 'manual', null)).toBe('The routine `N` was fired again (manual).');
  });
});
