import { describe, expect, it } from '@jest/globals';
import { oneNamed } from './one-named.ts';

const pick = (word: string, ...names: string[]) => oneNamed('agent', word, names, (name) => name);

describe('a word for one of several', () => {
  it('names the only one that was found', () => {
    expect(pick('ada', 'Ada')).toBe('Ada');
  });

  it('names the one that is spelt exactly so', () => {
    expect(pick('ada', 'Ada', 'ada', 'ADA')).toBe('ada');
  });

  it('is refused where it names none or several', () => {
    expect(() => pick('Bob')).toThrow('there is no agent "Bob"');
    expect(() => pick('ada', 'Ada', 'ADA')).toThrow('several agents are called "ada": use the id');
    expect(() => pick('ada', 'ada', 'ada')).toThrow('use the id');
  });
});
