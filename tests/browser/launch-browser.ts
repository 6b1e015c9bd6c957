import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Debian's browsers, the cheaper first: the whole of chromium takes twice the CPU time for its own windows and services. */
const BROWSERS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const browserProgram = BROWSERS.find((each) => existsSync(each));
export const hasChromium = browserProgram !== undefined;
/** `SLOW_BROWSER=6`: runs at a sixth of its speed. */
const slowdown = Number(process.env.SLOW_BROWSER ?? 1);
export const without = hasChromium ? '' : ` (skipped: no ${BROWSERS.join(' or ')})`;

/** Launches Debian's chromium, without a window, driven over its debugging protocol. */
export async function launchBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    ...(browserProgram === undefined ? {} : { executablePath: browserProgram }),
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
