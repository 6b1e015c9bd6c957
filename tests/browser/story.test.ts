/** @in-order */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  emptyDatabase,
  type FakeModel,
  type ServiceProcess,
  startFakeModel,
  startService,
} from '@acp/testkit';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { complaintsOf, excessWidth, inBrowser, launchBrowser, seriousFaults, without } from './chromium.ts';

const password = 'correct horse battery';

inBrowser(`the pages in a real browser${without}`, () => {
  let service: ServiceProcess;
  let model: FakeModel;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let company = '';
  let complaints: string[] = [];

  beforeAll(async () => {
    model = await startFakeModel({
      models: ['embedder-of-text', 'writer'],
      script: () => ({
        chunks: ['I have looked', ' into it.\n\n', 'All is', ' well now.\n', '/status done'],
        chunk_delay_ms: 60,
      }),
    });
    const { url: DATABASE_URL } = await emptyDatabase('browser');
    service = await startService({ DATABASE_URL });
    browser = await launchBrowser();
    context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    page = await context.newPage();
    complaints = complaintsOf(page);
  });

  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await model?.close();
  });

  /** Fields filled in so far, by keyboard like everything that follows. */
  const fields: string[] = [];
  let tabs = 0;
  const tabTo = async (selector: string, text = ''): Promise<void> => {
    const there = async () =>
      page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})
        && document.activeElement.textContent.trim().includes(${JSON.stringify(text)})`);
    for (let presses = 0; !(await there()); presses += 1) {
      if (presses > 100) throw new Error(`no key leads to ${selector} ${text}`);
      await page.keyboard.press('Tab');
      tabs += 1;
    }
  };
  const type = async (selector: string, text: string): Promise<void> => {
    await page.waitForSelector(selector);
    await tabTo(selector);
    await page.keyboard.type(text);
    fields.push(selector);
  };
  const press = async (text: string): Promise<void> => {
    await page.waitForSelector(`button:has-text("${text}")`);
    await tabTo('button', text);
    await page.keyboard.press('Enter');
  };

  it('a newcomer sets the instance up by the link of the log', async () => {
    const line = await service.logged('no user yet: open this link to create the first admin');
    const link = new URL(String(line.url));
    await page.goto(`${service.url}${link.pathname}${link.search}`);
    await type('[name=display_name]', 'Ada Admin');
    await type('[name=email]', 'ada@example.com');
    await type('[name=password]', password);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/companies');
    expect(await page.textContent('h1')).toBe('Companies');
  });

  it('goes by the first steps from nothing to a finished issue, with three more fields and no mouse', async () => {
    await type('[name=name]', 'Harbour Books');
    await press('Create');
    await page.waitForURL(/\/companies\/[0-9a-f-]{36}$/);
    company = page.url().split('/').at(-1)!;
    const step = () => page.textContent('.first-steps [aria-current=step]');
    expect(await step()).toContain('Connect a model');
    expect(await seriousFaults(page)).toEqual([]);
    await type('[name=base_url]', model.url);
    await press('Connect');
    await page.waitForSelector('.notice:has-text("It answered in")');
    expect(await page.inputValue('[name=default_model]')).toBe('writer');
    await press('Use this model');
    await page.waitForSelector('.notice:has-text("The model is connected.")');
    expect(await step()).toContain('Hire an agent');
    expect(await seriousFaults(page)).toEqual([]);
    await press('Hire the generalist');
    await page.waitForSelector('.notice:has-text("The agent is hired.")');
    expect(await step()).toContain('Give it an issue');
    await type('[name=title]', 'Say hello');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/issues\/[0-9a-f-]{36}$/);
    await page.waitForSelector('.comment:has-text("All is well now.")');
    await page.goto(`${service.url}/companies/${company}`);
    expect(await page.locator('.first-steps [aria-current=step]').count()).toBe(0);
    expect(await page.textContent('.first-steps h2')).toBe('The first issue is done');
    // Each step begins where something is to be done: no way through the navigation.
    expect(fields).toHaveLength(6);
    expect(tabs).toBeLessThan(12);
  });

  it('sees the card move by itself while the agent works on the issue', async () => {
    await page.goto(`${service.url}/companies/${company}/board`);
    const form = await context.newPage();
    await form.goto(`${service.url}/companies/${company}/issues/new`);
    await form.fill('[name=title]', 'Look into it');
    await form.selectOption('[name=assignee_agent_id]', { label: 'Generalist (general)' });
    await form.click('button:has-text("Create")');
    await page.waitForSelector('[data-column=todo] .issue-card, [data-column=done] .issue-card');
    await page.waitForSelector('[data-column=done] .issue-card:has-text("Look into it")');
    await form.waitForSelector('.comment:has-text("All is well now.")');
    expect(model.count()).toBeGreaterThan(0);
    await form.close();
  });

  it('reads the transcript as it is written', async () => {
    await page.goto(`${service.url}/companies/${company}/agents`);
    await page.click('td a');
    await page.click('button:has-text("Run now")');
    await page.waitForURL(/\/runs\//);
    await page.waitForSelector('.t-output:has-text("All is well now.")');
    await page.waitForSelector('aside .status[data-status=succeeded]');
    expect(await page.textContent('.t-output')).toContain('I have looked into it.');
  });

  it('moves a card by keyboard', async () => {
    await page.goto(`${service.url}/companies/${company}/board`);
    await page.focus('.issue-card');
    await page.keyboard.press('Shift+ArrowRight');
    await page.waitForSelector('[data-column=cancelled] .issue-card[data-status=cancelled]');
    await page.waitForSelector('#board-said:has-text("is now cancelled")', { state: 'attached' });
    await page.reload();
    expect(await page.locator('[data-column=cancelled] .issue-card').count()).toBe(1);
  });

  it('finds no serious accessibility fault in what has grown, and nothing wider than a phone', async () => {
    const issue = await page.getAttribute('.issue-card', 'href');
    await page.setViewportSize({ width: 390, height: 800 });
    for (const path of [`/companies/${company}`, `/companies/${company}/board`, issue!]) {
      await page.goto(service.url + path);
      expect([path, await excessWidth(page)]).toEqual([path, 0]);
      expect([path, await seriousFaults(page)]).toEqual([path, []]);
    }
  });

  it('mints a key for a client, and tries a tool with it, as the client would', async () => {
    await page.goto(`${service.url}/companies/${company}/connect`);
    await page.getByRole('button', { name: 'Mint a key' }).click();
    const form = page.locator('[data-try-tool]');
    // The operations that the key may call are offered.
    await form.locator('option[value="list_issues"]').waitFor({ state: 'attached' });
    await form.getByRole('button', { name: 'Call' }).click();
    await form.locator('[data-try-answer]').getByText('"items"').waitFor();
    await form.locator('[name=tool]').fill('no_such_tool');
    await form.getByRole('button', { name: 'Call' }).click();
    await form.getByText('there is no tool').waitFor();
    expect(await form.locator('[data-try-answer]').isHidden()).toBe(true);
  });

  it('has met no script error and nothing that the policy refused', () => {
    expect(complaints).toEqual([]);
  });
});
