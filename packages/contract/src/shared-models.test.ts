import { describe, expect, it } from '@jest/globals';
import { matchesGlob, parseSharedModels, sharesModel } from './shared-models.ts';

describe('parseSharedModels', () => {
  it('reads entries, the provider up to the first colon, blanks passed over', () => {
    expect(parseSharedModels(' a:m1, m2:8b ;; local : * ;')).toEqual([
      { provider: 'a', models: ['m1', 'm2:8b'] },
      { provider: 'local', models: ['*'] },
    ]);
    expect(parseSharedModels('')).toEqual([]);
  });

  it.each(['model', ':model', 'provider:', 'a:b;c'])('%s: refused by name', (text) => {
    expect(() => parseSharedModels(text)).toThrow(/is not provider:model/);
  });
});

it.each([
  ['m-*', 'm-large', true],
  ['*', '', true],
  ['m', 'M', false],
  ['a*b*c', 'a-b-b-c', true],
  ['a*a', 'a', false],
  ['m.x', 'mxx', false],
  ['*-mini*', 'gpt-mini-2', true],
])('glob %s on %s: %s', (glob, text, matches) => {
  expect(matchesGlob(glob, text)).toBe(matches);
});

it('a glob made to be slow takes no time', () => {
  expect(matchesGlob('*a'.repeat(100) + 'b', 'a'.repeat(200))).toBe(false);
});

it('provider and model are both asked for; what the task leaves open restricts nothing', () => {
  const shared = [{ provider: 'mine', models: ['m-*'] }];
  expect(sharesModel([{ provider: 'mine', models: [] }], { providers: ['mine'], model: 'any' })).toBe(true);
  expect(sharesModel([{ provider: 'mine', models: [] }], { providers: ['other'], model: 'any' })).toBe(false);
  expect(sharesModel(shared, { providers: ['mine', 'family_compat'], model: 'm-1' })).toBe(true);
  expect(sharesModel(shared, { providers: ['other'], model: 'm-1' })).toBe(false);
  expect(sharesModel(shared, { providers: ['mine'], model: 'x' })).toBe(false);
  expect(sharesModel(shared, { providers: [], model: null })).toBe(true);
  expect(sharesModel([], { providers: ['other'], model: 'x' })).toBe(true);
});
