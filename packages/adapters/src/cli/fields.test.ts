import { Scrubber } from '@acp/kernel';
import { describe, expect, it } from '@jest/globals';
import { failureOfEnd } from './failures.ts';
import { shown } from './fields.ts';

const secret = 'sk-secret_0123456789/abcdef+ghi=';
const scrubber = new Scrubber([secret]);

describe('a text that is cut before its secrets are known', () => {
  it.each([10, 20, secret.length - 1])('ends before the one of which %i characters are left', (left) => {
    const text = `${'word '.repeat(1000).slice(0, 4000 - left - 1)} ${secret} is the key`;
    const said = scrubber.scrub(String(shown(text)));
    expect(said).not.toContain('sk-');
    expect(said.length).toBeGreaterThan(3900);
    const input = { command: 'x'.repeat(3980 - left), key: secret };
    expect(scrubber.scrub(String(shown(input)))).not.toContain('sk-');
  });

  it('begins after the one whose end is left', () => {
    const stderr = `the key is ${secret} ${'word '.repeat(1000)}`.slice(0, 2000 + 11 + 15);
    const { message } = failureOfEnd('the CLI', { code: 1, signal: null, stderr: `${stderr}x` });
    expect(scrubber.scrub(message)).not.toMatch(/[+/=]/);
    expect(message).toContain('word');
  });

  it('is as long as it may be where there is no end of a word', () => {
    expect(shown('x'.repeat(5000))).toBe(`${'x'.repeat(4000)}…`);
  });
});
