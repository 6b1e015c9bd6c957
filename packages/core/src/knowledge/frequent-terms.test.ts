import { expect, it } from '@jest/globals';
import { FrequentTerms } from './frequent-terms.ts';

it('knows the latest terms, each of its company', () => {
  const terms = new FrequentTerms({ most: 2, kept_ms: 60_000 });
  for (const term of ['how', 'what', 'how', 'the']) terms.add('a', term);
  expect(['how', 'what', 'the'].map((term) => terms.has('a', term))).toEqual([true, false, true]);
  expect(terms.has('b', 'how')).toBe(false);
});

it('has them counted again after a while', () => {
  const terms = new FrequentTerms({ most: 2, kept_ms: 0 });
  terms.add('a', 'how');
  expect(terms.has('a', 'how')).toBe(false);
});
