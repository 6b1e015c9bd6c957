import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
export const hasChromium = existsSync(CHROMIUM);
/** `SLOW_BROWSER=6`: a sixth of its speed. */
const slowdown = Number(process.env.SLOW_BROWSER ?? 1);
export const without = hasChromium ? '' : ` (skipped: no ${CHROMIUM})`;

/** Debian's chromium, driven by its debugging protocol. */
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
    ],
  });
  if (slowdown > 1) slow(browser);
  return browser;
}

/** Pages of the browser get a part of the processor only: scripts come late, and what is typed meets them half ready. */
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
