import { describe, expect, it } from '@jest/globals';
import { cpuMs } from '@acp/testkit';
import { roleFit } from './role-fit.ts';

const general = { role: 'general', title: null, description: null } as const;

/** Words that differ, of four letters. */
const words = (count: number): string =>
  Array.from({ length: count }, (_, at) =>
    [at, at / 26, at / 676, at / 17_576]
      .map((each) => String.fromCharCode(97 + (Math.floor(each) % 26)))
      .join(''),
  ).join(' ');

describe('how well a role fits a question', () => {
  it('is the number of its words that begin with one that the role or its agent is about', () => {
    expect(roleFit('Rewrite the databases, or the database?', { ...general, role: 'cto' })).toBe(3);
    expect(roleFit('A taxi for tax', { ...general, role: 'cfo' })).toBe(1);
    const gardener = { ...general, title: 'Gardener', description: 'Looks after old roses' };
    expect(roleFit('Who waters the roses of our gardeners, afterwards?', gardener)).toBe(3);
    expect(roleFit('Are they old?', gardener)).toBe(0);
  });

  it('takes a description as far as it is read, and no run of letters that is no word', () => {
    const late = { ...general, description: `${' '.repeat(5000)}roses` };
    expect(roleFit('Who waters the roses?', late)).toBe(0);
    const endless = { ...general, description: 'a'.repeat(4000) };
    expect(roleFit('a'.repeat(10_000), endless)).toBe(0);
  });

  it('takes no time for the product of both texts', () => {
    const about = { ...general, description: words(200_000) };
    const asked = words(3000);
    expect(
      cpuMs(() => {
        for (let agent = 0; agent < 100; agent += 1) roleFit(asked, about);
      }),
    ).toBeLessThan(20_000);
  });
});
