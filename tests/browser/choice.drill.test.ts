/** Choosing one of a thousand agents, by typing its name. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createIssue, systemActor } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { waitFor } from '@acp/testkit';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { Cast } from '../http/cast.ts';
import { addNames } from '../http/many-names.ts';
import { complaintsOf, excessWidth, inBrowser, seriousFaults, smallTargets, without } from './chromium.ts';
import { showPages, type Shown } from './shown.ts';

inBrowser(`one of a thousand agents${without}`, () => {
  let shown: Shown;
  let database: Database;
  let context: BrowserContext;
  let page: Page;
  let cast: Cast;
  let company: string;
  let issue: string;
  const complaints: string[] = [];

  const open = async (options: BrowserContextOptions): Promise<BrowserContext> =>
    shown.windowOf(cast.admin, options);

  beforeAll(async () => {
    shown = await showPages();
    ({ database, cast } = shown);
    company = `/companies/${cast.company_id}`;
    await addNames(database, cast.company_id, { agents: 1000, projects: 200, goals: 300, labels: 500 });
    issue = await transaction(database, async (tx) => {
      const made = [];
      for (const title of ['Bind the books', 'Order paper'])
        made.push(await createIssue(tx, systemActor('tests'), cast.company_id, { title, status: 'backlog' }));
      return made[0]!.id;
    });
    context = await open({ viewport: { width: 1280, height: 800 } });
    page = await context.newPage();
    complaintsOf(page, complaints);
  });

  afterAll(() => shown?.close());

  const goTo = async (path: string): Promise<void> => {
    await page.goto(path);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
  };
  const assignee = async (): Promise<string | undefined> => {
    const { rows } = await database.pool.query<{ name: string }>(
      'select a.name from issues i join agents a on a.id = i.assignee_agent_id where i.id = $1',
      [issue],
    );
    return rows[0]?.name;
  };
  const isAssignedTo = (name: string | undefined) =>
    waitFor(async () => (await assignee()) === name, { what: `the issue to be ${name ?? 'nobody'}'s` });
  const option = (name: string): string => `#choices-offered [role=option][data-value="${name}"]`;

  it('is chosen with the pointer from those that fit what is typed', async () => {
    await goTo(`/issues/${issue}`);
    await page.click('#f-assignee_agent_id');
    await page.waitForSelector(option('Agent 1'));
    // Nothing is chosen yet.
    await page.keyboard.press('Enter');
    expect(await page.locator('.choices-offered').isVisible()).toBe(false);
    await page.keyboard.type('agent 77');
    await page.waitForSelector(option('Agent 770'));
    expect(await page.getAttribute('#f-assignee_agent_id', 'aria-expanded')).toBe('true');
    expect(await seriousFaults(page)).toEqual([]);
    await page.click(option('Agent 777'));
    await isAssignedTo('Agent 777');
    await page.waitForSelector('[data-script=ready] #f-assignee_agent_id[value="Agent 777"]');
  });

  it('is chosen by keyboard: the one that is marked, also if Enter comes before the answer', async () => {
    await goTo(`/issues/${issue}`);
    await page.focus('#f-assignee_agent_id');
    await page.keyboard.type('agent 31');
    await page.waitForSelector(`${option('Agent 31')}[data-combobox-option-default]`);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const active = await page.getAttribute('#f-assignee_agent_id', 'aria-activedescendant');
    expect(await page.textContent(`[id="${active}"]`)).toContain('Agent 310');
    await page.keyboard.press('Enter');
    await isAssignedTo('Agent 310');
    await goTo(`/issues/${issue}`);
    await page.focus('#f-assignee_agent_id');
    await page.keyboard.type('agent 32');
    await page.keyboard.press('Enter');
    await isAssignedTo('Agent 32');
    await page.waitForSelector('[data-script=ready] #f-assignee_agent_id[value="Agent 32"]');
    await page.focus('#f-assignee_agent_id');
    await page.keyboard.press('ArrowDown');
    await page.waitForSelector(option('Agent 1'));
    await page.keyboard.press('Escape');
    expect(await page.locator('.choices-offered').isVisible()).toBe(false);
    // Nobody: the field is emptied.
    await page.fill('#f-assignee_agent_id', '');
    await page.waitForSelector(option('Agent 1'));
    await page.keyboard.press('Tab');
    await isAssignedTo(undefined);
  });

  it('is refused if nobody is called that, next to the field', async () => {
    const before = await assignee();
    await goTo(`/issues/${issue}`);
    await page.focus('#f-assignee_agent_id');
    await page.keyboard.type('Agnes');
    await page.waitForSelector('.choices-offered [role=status]:has-text("Nothing found")');
    await page.keyboard.press('Tab');
    await page.waitForSelector('#e-assignee_agent_id:has-text("Nothing here is called “Agnes”.")');
    expect(await page.inputValue('#f-assignee_agent_id')).toBe('Agnes');
    expect(await assignee()).toBe(before);
  });

  it('filters the issues, and is set in a row of their list', async () => {
    for (const path of ['issues', 'board']) {
      await goTo(`${company}/${path}?all=yes`);
      await page.fill('#f-assignee', 'agent 9');
      await page.waitForSelector(`${option('Agent 9')}[data-combobox-option-default]`);
      await page.keyboard.press('Enter');
      await page.waitForURL(/assignee=Agent\+9/);
      await page.waitForSelector('.empty-title:has-text("Nothing matches")');
    }
    await goTo(`${company}/issues?all=yes`);
    const cell = page.locator(`tr[data-issue="${issue}"] [data-edit=assignee_agent_id]`);
    await cell.click();
    await page.keyboard.type('agent 555');
    await page.waitForSelector(`${option('Agent 555')}[data-combobox-option-default]`);
    await page.keyboard.press('Enter');
    await isAssignedTo('Agent 555');
    await page.waitForSelector(`tr[data-issue="${issue}"] .who:has-text("Agent 555")`);
    await cell.click();
    expect(await page.inputValue(`tr[data-issue="${issue}"] input[data-choices]`)).toBe('Agent 555');
    await page.keyboard.type('Agnes');
    await page.waitForSelector('.choices-offered [role=status]:has-text("Nothing found")');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.toast:has-text("Nothing here is called “Agnes”.")');
    // What was typed is still there to be corrected.
    const typed = page.locator(`tr[data-issue="${issue}"] input[data-choices]:focus`);
    expect([await typed.inputValue(), await assignee()]).toEqual(['Agnes', 'Agent 555']);
    await typed.fill('agent 556');
    await page.waitForSelector(`${option('Agent 556')}[data-combobox-option-default]`);
    await page.keyboard.press('Enter');
    await isAssignedTo('Agent 556');
    await page.waitForSelector(`tr[data-issue="${issue}"] .who:has-text("Agent 556")`);
  });

  it('has labels out of hundreds, each added as it is chosen', async () => {
    await goTo(`/issues/${issue}`);
    await page.click('summary:has-text("Add a label")');
    for (const name of ['label 41', 'label 499']) {
      await page.fill('#f-label_id', name);
      await page.waitForSelector(`${option(name)}[data-combobox-option-default]`);
      await page.keyboard.press('Enter');
      await page.waitForSelector(`[data-script=ready] button.label:has-text("${name} ×")`);
    }
    expect(await page.inputValue('#f-label_id')).toBe('');
  });

  it('is chosen without a fault of the scripts', () => {
    // The refusals above; and there is no such address here, and no stream.
    expect(complaints.filter((text) => !/\/healthz|status of 400/.test(text))).toEqual([]);
  });

  it('is at a finger’s reach on a phone', async () => {
    const phone = await open({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    const other = await phone.newPage();
    for (const path of [
      `/issues/${issue}`,
      `${company}/issues?assignee=nobody`,
      `${company}/board?assignee=nobody`,
    ]) {
      await other.goto(path);
      await other.waitForSelector('[data-script=ready]', { state: 'attached' });
      const field = path.startsWith('/issues') ? '#f-assignee_agent_id' : '#f-assignee';
      await other.tap(field);
      await other.waitForSelector('#choices-offered [role=option]');
      expect([await smallTargets(other), await excessWidth(other)]).toEqual([[], 0]);
      const height = await other.evaluate<number>(
        `Math.min(...[...document.querySelectorAll('#choices-offered [role=option]')].map((each) => each.offsetHeight))`,
      );
      expect(height).toBeGreaterThanOrEqual(44);
    }
    await other.tap('#choices-offered [role=option] >> nth=2');
    await other.waitForURL(/assignee=Agent/);
    await phone.close();
  });

  it('is named without script', async () => {
    const plain = await open({ javaScriptEnabled: false, viewport: { width: 1280, height: 800 } });
    const other = await plain.newPage();
    await other.goto(`/issues/${issue}`);
    const form = other.locator('form:has(#f-assignee_agent_id)');
    await form.locator('input[name=assignee_agent_id]').fill('agent 1000');
    await form.locator('button').click();
    expect(await assignee()).toBe('Agent 1000');
    await form.locator('input[name=assignee_agent_id]').fill('Agent 1001');
    await form.locator('button').click();
    expect(await other.textContent('#e-assignee_agent_id')).toContain('Nothing here is called “Agent 1001”');
    expect(await assignee()).toBe('Agent 1000');
    await other.goto(`${company}/issues?all=yes`);
    await other.fill('#f-assignee', 'Agent 1000');
    await other.click('.filters button');
    expect(await other.locator('.issue-title').allTextContents()).toEqual(['Bind the books']);
    await plain.close();
  });
});
