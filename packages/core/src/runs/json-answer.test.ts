import { expect, it } from '@jest/globals';
import { readJsonAnswer } from './json-answer.ts';

const read = (value: unknown): object => {
  if (typeof value !== 'object' || value === null || !('a' in value)) throw new Error('not that');
  return value;
};

it.each([
  ['Here it is: {"a": 1}', { a: 1 }],
  ['{"b": 1}', undefined],
  ['nothing', undefined],
  [null, undefined],
])('of the answer %j, %j is read', (answer, expected) => {
  expect(readJsonAnswer(answer, read)).toEqual(expected);
});
