import { expect, it } from '@jest/globals';
import { dollars } from './dollars.ts';

it.each([
  [0, '$0.00'],
  [0.001, '$0.001'],
  [0.0894, '$0.089'],
  [0.000_012_34, '$0.000012'],
  [2.589, '$2.59'],
  [1234, '$1,234.00'],
])('%d dollars are %s', (amount, written) => {
  expect(dollars(amount)).toBe(written);
});
