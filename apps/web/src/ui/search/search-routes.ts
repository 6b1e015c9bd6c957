/** One search for everything, as a page and as the palette's results; and the keyboard shortcuts. */
import type { Found } from '@acp/contract';
import { find } from '@acp/core';
import { companyPage } from '../kit/company-frame.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { emptyState, input, status } from '../kit/parts.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const byCompany = { scope: { by: 'company', param: 'companyId' }, role: 'viewer' } as const;

const LONGEST = 200;

const headings: Record<Found['kind'], string> = texts({
  issue: 'Issues',
  agent: 'Agents',
  project: 'Projects',
  run: 'Runs',
});

const line = ({ title, detail, status: state }: Found): Html =>
  html`<span class="identifier">${detail ?? ''}</span> <span class="grow">${title}</span> !${status(state)}`;

async function findPage(context: UiContext<'company'>): Promise<Html> {
  const { tx, company_id, query, fragment } = context;
  const q = (query.q ?? '').replaceAll('\0', '').slice(0, LONGEST);
  const found = await find(tx, company_id, q);
  if (fragment) return options(found);
  const path = `/companies/${company_id}/find`;
  const body = html`<form class="filters row" method="get" action="${path}" role="search">
      !${input({ name: 'q', label: 'Issues, agents, projects, runs', type: 'search', value: q, autofocus: true })}
      <button>Search</button>
    </form>
    !${when(q.trim() !== '' && found.length === 0, () =>
      emptyState('Nothing found', html`No title, text or name contains “${q.trim()}”.`),
    )}
    !${each([...Map.groupBy(found, ({ kind }) => kind)], ([kind, of]) => section(headings[kind], of))}`;
  return companyPage(context, { title: t`Find`, active: path, body });
}

const section = (title: string, found: readonly Found[]): Html =>
  html`<section class="card">
    <h2>${title}</h2>
    <ul class="list">
      !${each(found, (one) => html`<li><a class="found" href="${one.url}">!${line(one)}</a></li>`)}
    </ul>
  </section>`;

/** The palette's options. */
const options = (found: readonly Found[]): Html =>
  each(
    found,
    (one) =>
      html`<a role="option" id="found-${one.id}" href="${one.url}" tabindex="-1"
        ><span class="soft small">${one.kind}</span> !${line(one)}</a
      >`,
  );

/** Each shortcut with what it does; `g` and a letter navigate. */
const keys = (): [keys: string, does: string][] => [
  [t`Ctrl K, ⌘ K`, t`find anything, go anywhere`],
  ['/', t`to the filter of the page, or the search`],
  ['c', t`write a new issue`],
  ['?', t`this page`],
  ['j, k', t`down and up in a list`],
  ['x', t`choose the issue of the row`],
  ['m', t`change the chosen issues; Esc goes back to the rows`],
  ['s, p, a', t`change status, priority or assignee of the row`],
  ['h', t`snooze an item in the inbox`],
  ['e', t`mark the issue in the inbox as read`],
  [t`Enter`, t`open what has the focus`],
  [t`Arrow keys`, t`from card to card on the board`],
  [t`Shift with ← or →`, t`move the card to the next column`],
  [t`Ctrl Enter, ⌘ Enter`, t`send what is being written`],
  ['g d', t`to the dashboard`],
  ['g b', t`to the board`],
  ['g i', t`to the issues`],
  ['g a', t`to the agents`],
  ['g r', t`to the runs`],
  ['g c', t`to the costs`],
  ['g n', t`to the inbox`],
];

const keyLine = ([names, does]: readonly [string, string]): Html =>
  html`<tr>
    <td><kbd>${names}</kbd></td>
    <td>${does}</td>
  </tr>`;

const keysPage = (context: UiContext<'company'>): Promise<Html> =>
  companyPage(context, {
    title: t`Keyboard`,
    body: html`<div class="card">
      <table aria-label="Keyboard" class="keys">
        <thead>
          <tr>
            <th>Press</th>
            <th>What it does</th>
          </tr>
        </thead>
        <tbody>
          !${each(keys(), keyLine)}
        </tbody>
      </table>
      <p data-script-only>
        <label class="check"
          ><input type="checkbox" data-single-keys />
          <span>Single-key shortcuts, in this browser</span></label
        >
      </p>
    </div>`,
  });

export const searchRoutes: UiRoute[] = [
  page('/companies/{companyId}/find', byCompany, findPage),
  page('/companies/{companyId}/keys', byCompany, keysPage),
];
