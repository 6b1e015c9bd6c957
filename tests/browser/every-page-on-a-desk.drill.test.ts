/** Every registered page on a desktop in dark mode; `every-page-on-a-phone.drill.test.ts` has the phone, and what the two have in common. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { pathOn } from '../http/stage.ts';
import { cutWords, excessWidth, inBrowser, RULES_OF_LOOKS, seriousFaults, without } from './chromium.ts';
import { DESK, everyPage, startSweep, type Sweep } from './every-page.ts';

inBrowser(`every page on a desktop${without}`, () => {
  let sweep: Sweep;
  let desk: Page;

  beforeAll(async () => {
    sweep = await startSweep();
    desk = await sweep.open(DESK);
  });

  afterAll(() => sweep?.stop());

  it.each(everyPage)(
    '%s is as wide as its window, cuts no word, and is for everybody to see',
    async (_path, route) => {
      const answer = await desk.goto(sweep.origin + pathOn(sweep.stage, route), { waitUntil: 'load' });
      expect(answer?.status()).toBe(200);
      expect(await excessWidth(desk)).toBe(0);
      expect(await cutWords(desk)).toEqual([]);
      // Apart from its looks the document is the same on every screen.
      expect(await seriousFaults(desk, RULES_OF_LOOKS)).toEqual([]);
    },
  );
});
