import { expect, it } from '@jest/globals';
import { dollars } from './dollars.ts';

it.each([
  [0, '$0.00'],
  [0.001, '$0.001'],
  [0.0894, '$0.089'],
  [0.0994, '$0.099'],
  [0.0996, '$0.10'],
  [0.05, '$0.05'],
  [0.000_000_12, '$0.00000012'],
  [0.000_012_34, '$0.000012'],
  [2.589, '$2.59'],
  [1234, '$1,234.00'],
])('%d dollars are %s', (amount, written) => {
  expect(dollars(amount)).toBe(written);
});

it('another language writes them its own way', () => {
  expect([dollars(1234.5, 'de'), dollars(0.01, 'de')]).toEqual(['1.234,50\u{A0}$', '0,01\u{A0}$']);
});
