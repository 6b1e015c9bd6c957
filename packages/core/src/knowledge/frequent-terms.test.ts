import { expect, it } from '@jest/globals';
import { FrequentTerms } from './frequent-terms.ts';

it('knows the latest terms, each of its company', () => {
  const terms = new FrequentTerms({ most: 2, kept_ms: 60_000 });
  for (const [found, term] of ['how', 'what', 'how', 'the'].entries()) terms.add('a', term, found);
  expect(['how', 'what', 'the'].map((term) => terms.found('a', term))).toEqual([2, undefined, 3]);
  expect(terms.found('b', 'how')).toBeUndefined();
});

it('has them counted again after a while', () => {
  const terms = new FrequentTerms({ most: 2, kept_ms: 0 });
  terms.add('a', 'how', 1);
  expect(terms.found('a', 'how')).toBeUndefined();
});
