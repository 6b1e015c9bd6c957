/** What a person would see of a page in chromium, and what they would complain of. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe } from '@jest/globals';
import type { Page } from 'playwright-core';
import { hasChromium } from './launch-browser.ts';

export { launchBrowser, without } from './launch-browser.ts';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

// Elsewhere the tests have nothing to drive, and say so in their title.
export const inBrowser = (...args: Parameters<typeof describe.skip>): void =>
  (hasChromium ? describe : describe.skip)(...args);

/**
 * What the page says of faults from now on: script errors, and what the policy refused.
 * @param complaints where it is written, after what other pages said
 */
export function complaintsOf(page: Page, complaints: string[] = []): string[] {
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return complaints;
}

/** Pixels by which the page is wider than its window. */
export async function excessWidth(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/** Words and figures of ordinary length in tables, headings and controls that stand on two lines: cut in the middle. */
export async function cutWords(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const cut = [];
    for (const place of document.querySelectorAll('th, td, h1, h2, h3, label, button, nav a')) {
      const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
      for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
        if (node.parentElement.closest('.sr-only') || !node.parentElement.checkVisibility()) continue;
        for (const word of node.data.matchAll(/\\S+/g)) {
          if (word[0].length > 12 || /[-/]/.test(word[0])) continue;
          const range = document.createRange();
          range.setStart(node, word.index);
          range.setEnd(node, word.index + word[0].length);
          const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
          if (lines.size > 1) cut.push(word[0]);
        }
      }
    }
    return cut;
  })()`);
}

/**
 * Texts in which English stands on a page of another language: with one of the words that nearly every English sentence
 * has. What is no text of the service is left out: code, and what people have written.
 * @param written all that is stored, which a page may show as it is
 */
export async function englishTexts(page: Page, written: string): Promise<string[]> {
  const found = await page.evaluate<string[]>(`(() => {
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      if (node.parentElement.closest('code, pre, kbd, textarea, script, [lang=en]')) continue;
      const text = node.data.replaceAll(/\\s+/g, ' ').trim();
      if (/\\b(the|and|with|is|are|has|have|not|of|for|this|that|from|by|to|no|your|you|it)\\b/i.test(text)) found.push(text);
    }
    return found;
  })()`);
  // An excerpt has no marks of Markdown, stands behind the name of its author, and ends early.
  const plain = (text: string) => text.replaceAll(/[^\p{L}\p{N} ]/gu, '').replaceAll(/ +/g, ' ');
  const all = plain(written);
  const isWritten = (text: string) => all.includes(plain(text).slice(0, 40));
  return found.filter((text) => !isWritten(text) && !isWritten(text.replace(/^[^:]{1,40}: /, '')));
}

interface AxeResult {
  violations: { id: string; impact: string; nodes: { html: string }[] }[];
}

/** The rules of axe whose outcome colours or sizes decide, and not the document alone. */
export const RULES_OF_LOOKS: readonly string[] = [
  'color-contrast',
  'link-in-text-block',
  'scrollable-region-focusable',
  'target-size',
];

/**
 * Accessibility faults that axe calls serious or critical. Run by the debugger, which the page's policy does not bind.
 * @param rules these alone
 */
export async function seriousFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(readFileSync(axe, 'utf8'));
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
  const result = await page.evaluate(
    async (set) =>
      (await (globalThis as unknown as { axe: { run(options: unknown): Promise<unknown> } }).axe.run(
        set,
      )) as never,
    options,
  );
  return (result as AxeResult).violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`);
}
