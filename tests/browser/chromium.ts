/** Checks of a page in chromium: what a person would see and complain about. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium } from './launch-browser.ts';

export { launchBrowser, without } from './launch-browser.ts';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

// Without chromium the tests have nothing to drive, and their title says so.
export const inBrowser = (...args: Parameters<typeof describe.skip>): void =>
  (hasChromium ? describe : describe.skip)(...args);

/**
 * Collects the page's faults from now on: script errors, and violations of the content security policy.
 * @param complaints list to append to, which may already contain those of other pages
 */
export function complaintsOf(page: Page, complaints: string[] = []): string[] {
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return complaints;
}

/** Number of pixels by which the page is wider than its window. */
export async function excessWidth(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/** Controls on a touch screen that are lower than a finger is wide, 44 pixels. Links within a text do not count. */
export async function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const controls = 'button, .button, summary, select, textarea, input:not([type=hidden], [disabled]), nav a, .trail a';
    return [...document.querySelectorAll(controls)].flatMap((control) => {
      const target = control.matches('[type=checkbox], [type=radio]') ? (control.closest('label') ?? control) : control;
      const { height } = target.getBoundingClientRect();
      return height === 0 || height > 43 || !control.checkVisibility() ? [] : [height + ' px: ' + control.outerHTML.slice(0, 120)];
    });
  })()`);
}

/** Words and figures of ordinary length in tables, headings and controls that wrap in the middle onto a second line. */
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

/** Boxes and tables that touch what comes below them, as `box > what follows`. */
export async function touching(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const seen = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
    const below = seen('main :is(.card, .empty, button, .button, p, h2, h3, label, table)');
    const named = ({ tagName, className }) => tagName.toLowerCase() + (className && '.' + className.replaceAll(' ', '.'));
    return seen('main :is(.card, .empty, table)').flatMap((box) => {
      const { bottom, left, right } = box.getBoundingClientRect();
      return below
        .filter((other) => {
          const place = other.getBoundingClientRect();
          const apart = box.contains(other) || other.contains(box) || place.width === 0 || place.right <= left || place.left >= right;
          return !apart && Math.abs(place.top - bottom) < 3;
        })
        .map((other) => named(box) + ' > ' + named(other));
    });
  })()`);
}

/** Choices of which the selected one does not fit into its box. */
export async function cutChoices(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const pen = document.createElement('canvas').getContext('2d');
    return [...document.querySelectorAll('main td select')].flatMap((box) => {
      const looks = getComputedStyle(box);
      const text = box.selectedOptions[0]?.textContent.trim() ?? '';
      pen.font = looks.font;
      const room = box.clientWidth - parseFloat(looks.paddingLeft) - parseFloat(looks.paddingRight);
      return box.checkVisibility() && pen.measureText(text).width > room ? [text] : [];
    });
  })()`);
}

/** Values in the stacked rows of a phone that stand neither at the edge opposite their label nor below it, by their labels. */
export async function ragged(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const values = [...document.querySelectorAll('table.stacks td[data-label]:not([data-phone], :first-child) > div')];
    return values
      .filter((value) => {
        const cell = value.parentElement.getBoundingClientRect();
        const range = document.createRange();
        range.selectNodeContents(value);
        const { top, left, right, width } = range.getBoundingClientRect();
        return width > 0 && top - cell.top < 12 && left - cell.left > 12 && cell.right - right > 12;
      })
      .map(({ parentElement }) => parentElement.dataset.label);
  })()`);
}

/** What a screen reader would call by its role alone: links and controls without a name. */
export async function nameless(page: Page): Promise<string[]> {
  const debug = await page.context().newCDPSession(page);
  const { nodes } = await debug.send('Accessibility.getFullAXTree');
  await debug.detach();
  const named =
    /^(?:link|button|checkbox|radio|textbox|searchbox|combobox|listbox|option|DisclosureTriangle|dialog)$/;
  return nodes.flatMap(({ ignored, role, name }) =>
    !ignored && named.test(String(role?.value)) && String(name?.value ?? '').trim() === ''
      ? [String(role?.value)]
      : [],
  );
}

/** How wide the smallest phones are, and a text twice as large on others. */
const NARROW = [
  { width: 320, text: '100%' },
  { width: 390, text: '200%' },
];

/** By how many pixels the page is too wide for each of them. */
export async function excessWhenNarrow(page: Page): Promise<number[]> {
  const before = page.viewportSize()!;
  const excess: number[] = [];
  for (const { width, text } of NARROW) {
    await page.setViewportSize({ ...before, width });
    await page.evaluate(`document.documentElement.style.fontSize = '${text}'`);
    excess.push(await excessWidth(page));
  }
  await page.evaluate("document.documentElement.style.fontSize = ''");
  await page.setViewportSize(before);
  return excess;
}

/** Without Markdown's markup, which excerpts do not have. */
export const plainText = (text: string): string =>
  text.replaceAll(/[^\p{L}\p{N} ]/gu, '').replaceAll(/ +/g, ' ');

/**
 * English texts on a page in another language, detected by words that nearly every English sentence contains. Texts that
 * are not the service's own are skipped: code, and what people have written.
 * @param written all stored texts, which a page may show, as `plainText` gives them
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
  // An excerpt follows the name of its author, and is truncated.
  const isWritten = (text: string) => written.includes(plainText(text).slice(0, 40));
  return found.filter((text) => !isWritten(text) && !isWritten(text.replace(/^[^:]{1,40}: /, '')));
}

interface AxeResult {
  violations: { id: string; impact: string; nodes: { html: string }[] }[];
}

/** The axe rules that depend on colours or sizes, and not only on the document. */
export const RULES_OF_LOOKS: readonly string[] = [
  'color-contrast',
  'link-in-text-block',
  'scrollable-region-focusable',
  'target-size',
];

/** Loads axe with each page of the context: for tests of many pages, to which it would otherwise be sent one by one. */
export async function bringAxe(context: BrowserContext): Promise<void> {
  await context.addInitScript({ path: axe });
}

/**
 * Accessibility faults that axe rates serious or critical. Runs through the debugger, which the page's policy does not restrict.
 * @param rules restricts the check to these
 */
export async function seriousFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(readFileSync(axe, 'utf8'));
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
