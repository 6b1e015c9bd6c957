/** How long everyday acts keep a person waiting: from the key or click to the next frame, with the CPU slowed down four times. */
import type { Browser, Page } from 'playwright-core';

/** What takes longer than a tenth of a second no longer feels immediate. */
const MAX_MS = 100;
const SLOWER = 4;
/** Time for an act's requests to the server. */
const SETTLED_MS = 700;

interface Act {
  name: string;
  /** A path below the company's, or the newest issue. */
  at: '/issues' | '/board' | 'issue';
  do: (page: Page) => Promise<void>;
}

const press =
  (...keys: string[]) =>
  async (page: Page) => {
    for (const key of keys) await page.keyboard.press(key, { delay: 30 });
  };
const type = (field: string, text: string) => async (page: Page) => {
  await page.click(field);
  await page.keyboard.type(text, { delay: 60 });
};

const acts: readonly Act[] = [
  { name: 'go down the list', at: '/issues', do: press('j', 'j', 'j', 'k') },
  { name: 'choose rows', at: '/issues', do: press('j', 'x', 'j', 'x') },
  { name: 'change a property in its row', at: '/issues', do: press('j', 'p') },
  { name: 'filter the list', at: '/issues', do: type('form.filters input[name=q]', 'checkout') },
  {
    name: 'open the palette and find',
    at: '/issues',
    do: async (page) => {
      await page.keyboard.press('Control+k');
      await page.waitForSelector('.palette[open]');
      await page.keyboard.type('checkout', { delay: 60 });
    },
  },
  {
    name: 'go about the board',
    at: '/board',
    do: async (page) => {
      await page.focus('.issue-card');
      await press('ArrowDown', 'ArrowRight', 'ArrowDown')(page);
    },
  },
  {
    name: 'move a card',
    at: '/board',
    do: async (page) => {
      await page.focus('.issue-card');
      await press('Shift+ArrowRight')(page);
    },
  },
  { name: 'filter the board', at: '/board', do: type('form.filters input[name=q]', 'checkout') },
  { name: 'write a comment', at: 'issue', do: type('#f-comment', 'Looked into it; **more** tomorrow.') },
  {
    name: 'show what it will look like',
    at: 'issue',
    do: async (page) => {
      await type('#f-comment', '**bold**')(page);
      await page.click('[data-show-preview]');
    },
  },
  {
    name: 'unfold a transcript',
    at: 'issue',
    do: async (page) => page.click('summary:has-text("Transcript")'),
  },
];

/** The longest of the interactions recorded by the browser since the page loaded. */
const LONGEST = `(async () => {
  await new Promise((next) => requestAnimationFrame(() => setTimeout(next, 0)));
  return Math.max(0, ...globalThis.interactions);
})()`;

const COUNT = `globalThis.interactions = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (entry.interactionId) globalThis.interactions.push(entry.duration);
}).observe({ type: 'event', durationThreshold: 16, buffered: true });`;

/** Prints a line per act: its longest interaction according to the browser's Event Timing (steps of 8 ms). */
export async function measureInteractions(
  browser: Browser,
  { origin, company, issue, session }: { origin: string; company: string; issue: string; session: string },
): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.addCookies([{ name: 'service_session', value: session, url: origin }]);
  await context.addInitScript(COUNT);
  for (const act of acts) {
    const page = await context.newPage();
    await page.goto(origin + (act.at === 'issue' ? issue : company + act.at), { waitUntil: 'load' });
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    const debug = await context.newCDPSession(page);
    await debug.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
    await act.do(page);
    await page.waitForTimeout(SETTLED_MS);
    const longest = await page.evaluate<number>(LONGEST);
    console.log(`${String(longest).padStart(5)} ms  ${act.name}${longest > MAX_MS ? '  <- over' : ''}`);
    await page.close();
  }
  await context.close();
}
