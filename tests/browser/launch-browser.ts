import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';

const WHOLE = '/usr/bin/chromium';
/** Without windows and services of its own, which take as much CPU time again as pages do. */
const SHELL = '/usr/bin/chromium-headless-shell';
export const hasChromium = existsSync(WHOLE);
/** A busy machine is no failure: as long as `waitFor` waits. */
const DEADLINE_MS = 60_000;
/** `SLOW_BROWSER=6`: runs at a sixth of its speed. */
const slowdown = Number(process.env.SLOW_BROWSER ?? 1);
export const without = hasChromium ? '' : ` (skipped: no ${WHOLE})`;

/**
 * Launches Debian's chromium, driven over its debugging protocol.
 * @param whole with what the shell lacks: notifications
 */
export async function launchBrowser({ whole = false } = {}): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: whole || !existsSync(SHELL) ? WHOLE : SHELL,
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
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    context.setDefaultTimeout(DEADLINE_MS);
    if (slowdown > 1) slow(context);
    return context;
  };
  return browser;
}

/** Throttles the CPU of the pages: scripts load late, so typing meets half-initialized pages. */
function slow(context: BrowserContext): void {
  const newPage = context.newPage.bind(context);
  context.newPage = async () => {
    const page = await newPage();
    const debug = await context.newCDPSession(page);
    await debug.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
    return page;
  };
}
