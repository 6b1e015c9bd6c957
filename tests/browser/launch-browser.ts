import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
export const hasChromium = existsSync(CHROMIUM);
/** `SLOW_BROWSER=6`: runs at a sixth of its speed. */
const slowdown = Number(process.env.SLOW_BROWSER ?? 1);
export const without = hasChromium ? '' : ` (skipped: no ${CHROMIUM})`;

/** Launches Debian's chromium, driven over its debugging protocol. */
export async function launchBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // No process is kept ready for the next page: starting them took a quarter of the CPU time.
      '--renderer-process-limit=1',
    ],
  });
  if (slowdown > 1) slow(browser);
  return browser;
}

/** Throttles the CPU of the browser's pages: scripts load late, so typing meets half-initialized pages. */
function slow(browser: Browser): void {
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    const newPage = context.newPage.bind(context);
    context.newPage = async () => {
      const page = await newPage();
      const debug = await context.newCDPSession(page);
      await debug.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
      return page;
    };
    return context;
  };
}
