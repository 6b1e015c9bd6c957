import { describe, expect, it } from '@jest/globals';
import { cpuMs } from '@acp/testkit';
import { findMentions, mentionInitials } from './mentions.ts';

const names = ['Ada', 'Ada Lovelace', 'Head of Growth', 'Jean-Luc', 'Bob', 'bob', 'Zoë', '李雷', 'R2 (beta)'];
const agents = names.map((name) => ({ id: name, name }));
const mentioned = (text: string) => findMentions(text, agents);

describe('findMentions', () => {
  it.each<[string, string[]]>([
    ['@Ada please look', ['Ada']],
    ['please, @ADA!', ['Ada']],
    ['@Ada’s work', ['Ada']],
    ['(@ada)', ['Ada']],
    ['@Ada Lovelace and @Ada', ['Ada Lovelace', 'Ada']],
    ['@Ada-Lovelace', ['Ada Lovelace']],
    ['@Ada Smith', ['Ada']],
    ['@head-of-growth, @Head of Growth', ['Head of Growth']],
    ['@"Head of Growth"', ['Head of Growth']],
    ['@"head of growth', []],
    ['@"Ada" Lovelace', ['Ada']],
    ['@"Ada Love"', []],
    ['@jean-luc and @Jean Luc', ['Jean-Luc']],
    ['@bob', ['Bob', 'bob']],
    ['@zoë @李雷', ['Zoë', '李雷']],
    ['@R2 (beta)x', ['R2 (beta)']],
    ['@Adam @Ada_2 @ada2', []],
    ['ada@ada.example @', []],
    ['@ Ada', []],
    ['@@Ada', ['Ada']],
    ['', []],
  ])('in %j finds %j', (text, expected) => {
    expect(mentioned(text)).toEqual(expected);
  });

  it.each<[string, string[]]>([
    ['`@Ada` and `` ` @Bob `` but @Zoë', ['Zoë']],
    ['a ` alone, @Ada', ['Ada']],
    ['``@Ada`', ['Ada']],
    ['`a\n\n@Ada` b', ['Ada']],
    ['\\`@Ada`', ['Ada']],
    ['```\n@Ada\n```\n@Zoë', ['Zoë']],
    ['~~~sh\n@Ada\n```\n@Ada\n~~~~\n@Zoë', ['Zoë']],
    ['````\n@Ada\n```\n@Ada', []],
    ['   ```\r\n@Ada\r\n   ```\r\n@Zoë', ['Zoë']],
    ['```inline``` @Ada', ['Ada']],
    ['text\n```\n@Ada', []],
    ['`x`@Ada', ['Ada']],
  ])('passes over code in %j and finds %j', (text, expected) => {
    expect(mentioned(text)).toEqual(expected);
  });

  it('looks at the beginning of a text that has no end', () => {
    expect(mentioned(`${' '.repeat(99_000)}@Ada`)).toEqual(['Ada']);
    expect(mentioned(`${' '.repeat(100_000)}@Ada`)).toEqual([]);
  });

  it('takes time in proportion to the text, whatever it is made of', () => {
    const many = Array.from({ length: 2000 }, (_, index) => ({
      id: `${index}`,
      name: `a${'a'.repeat(index % 400)}`,
    }));
    const hostile = ['@a', '@', '`', '` ``', '@"a', '\n```', '\\`', 'aaaa '].map((part) =>
      part.repeat(1_000_000 / part.length),
    );
    hostile.push(`@\n${'~'.repeat(99_990)}\u2028`);
    hostile.push(`@${'a'.repeat(999_999)}`, Array.from({ length: 1400 }, (_, n) => '`'.repeat(n)).join(' '));
    for (const text of hostile) {
      const spent = cpuMs(() => {
        findMentions(text, many);
        mentionInitials(text);
      });
      // Quadratic behaviour would take minutes.
      expect(spent).toBeLessThan(20_000);
    }
  });
});

describe('mentionInitials', () => {
  it('names the first letters of what may be a mention, in both cases, and none without a sign', () => {
    expect(mentionInitials('@Ada @"Bob" `@Zoë` mail@example.com')).toEqual(['a', 'A', 'b', 'B']);
    expect(mentionInitials('nobody')).toEqual([]);
  });
});
