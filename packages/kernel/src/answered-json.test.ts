import { describe, expect, it } from '@jest/globals';
import { answeredJson } from './index.ts';

describe('the JSON in an answer', () => {
  it('is found amid other text', () => {
    expect(answeredJson('Here:\n```json\n{"a": {"b": 1}}\n```\nGood?')).toEqual({ a: { b: 1 } });
    for (const none of ['', 'none', '{', '}{', '{"a": }', `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`])
      expect(answeredJson(none)).toBeUndefined();
  });

  it.each(['{', '{ "a": ', '{{}'])('is looked for in linear time where an answer repeats %j', (part) => {
    expect(answeredJson(part.repeat(300_000))).toBeUndefined();
  });
});
