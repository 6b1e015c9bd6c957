/** One search for everything, as a page and as the palette's results; and the keyboard shortcuts. */
import type { Found } from '@acp/contract';
import { countIssues, find, mostFound } from '@acp/core';
import { companyPage } from '../kit/company-frame.ts';
import { countUpTo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { filtered } from '../kit/list-search.ts';
import { emptyState, input, status } from '../kit/parts.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';

const byCompany = { scope: { by: 'company', param: 'companyId' }, role: 'viewer' } as const;

const LONGEST = 200;

const headings: Record<Found['kind'], string> = texts({
  issue: 'Issues',
  agent: 'Agents',
  project: 'Projects',
  run: 'Runs',
});

const kinds: Record<Found['kind'], string> = texts({
  issue: 'issue',
  agent: 'agent',
  project: 'project',
  run: 'run',
});

/** As the API names a run. */
const RUN = /^Run of (?<agent>.+?)(?: on (?<issue>\S+-\d+))?$/s;

/** In the reader’s language: what distinguishes agents and runs is a value, a run has no name of its own. */
function inWords(found: Found): Found {
  const { kind, title, detail } = found;
  if (kind === 'issue' || kind === 'project') return found;
  const said = { ...found, detail: detail && words(detail) };
  const { agent, issue } = (kind === 'run' && RUN.exec(title)?.groups) || {};
  if (agent === undefined) return said;
  return { ...said, title: issue ? t`Run of ${agent} on ${issue}` : t`Run of ${agent}` };
}

const line = ({ title, detail, status: state }: Found): Html =>
  html`<span class="identifier">${detail ?? ''}</span> <span class="grow">${title}</span> !${status(state)}`;

async function findPage(context: UiContext<'company'>): Promise<Html> {
  const { tx, company_id, query, fragment } = context;
  const q = (query.q ?? '').replaceAll('\0', '').slice(0, LONGEST);
  const found = (await find(tx, company_id, q)).map(inWords);
  const rest = await restOf(context, q.trim(), found);
  if (fragment) return options(found, rest);
  const path = `/companies/${company_id}/find`;
  const results = html`!${when(q.trim() !== '' && found.length === 0, () =>
    emptyState('Nothing found', html`No title, text or name contains “${q.trim()}”.`),
  )}
  !${each([...Map.groupBy(found, ({ kind }) => kind)], ([kind, of]) => section(headings[kind], of, rest.get(kind)))}`;
  const body = html`<form class="filters row" method="get" action="${path}" role="search" data-autosubmit>
      !${input({ name: 'q', label: 'Issues, agents, projects, runs', type: 'search', value: q, autofocus: true })}
      <button>Search</button>
    </form>
    !${filtered(results)}`;
  return companyPage(context, { title: t`Find`, active: path, body });
}

/** Where all matches of a kind are, if not all of them are shown, and how many issues there are by title. */
interface Rest {
  href: string;
  total: string | null;
}

/** As far as they are counted while somebody types. */
const MOST_COUNTED = 100;

async function restOf(
  { tx, company_id }: UiContext<'company'>,
  q: string,
  found: readonly Found[],
): Promise<ReadonlyMap<Found['kind'], Rest>> {
  const shown = (kind: Found['kind']): number => found.filter((one) => one.kind === kind).length;
  const address = (list: string): string =>
    `/companies/${company_id}/${list}?${new URLSearchParams({ q }).toString()}`;
  const rest = new Map<Found['kind'], Rest>();
  if (shown('agent') === mostFound.agents) rest.set('agent', { href: address('agents'), total: null });
  if (shown('project') === mostFound.projects)
    rest.set('project', { href: address('projects'), total: null });
  if (shown('issue') < mostFound.issues) return rest;
  const total = await countIssues(tx, company_id, { q }, MOST_COUNTED + 1);
  const href = address('issues');
  if (total > mostFound.issues) rest.set('issue', { href, total: countUpTo(MOST_COUNTED, total) });
  return rest;
}

const section = (title: string, found: readonly Found[], rest: Rest | undefined): Html =>
  html`<section class="card">
    <h2>${title}</h2>
    <ul class="list">
      !${each(found, (one) => html`<li><a class="found" href="${one.url}">!${line(one)}</a></li>`)}
    </ul>
    !${when(
      rest,
      ({ href, total }) =>
        html`<p class="more">
          !${when(total, (all) => html`${mostFound.issues} of ${all} by title or identifier – `)}<a
            href="${href}"
            >Show all</a
          >
        </p>`,
    )}
  </section>`;

/** The palette's options. */
const options = (found: readonly Found[], rest: ReadonlyMap<Found['kind'], Rest>): Html =>
  html`!${each(
    found,
    (one) =>
      html`<a
        role="option"
        id="found-${one.id}"
        href="${one.url}"
        tabindex="-1"
        data-name="${one.title}"
        data-also="${one.detail ?? ''}"
        ><span class="soft small">${kinds[one.kind]}</span> !${line(one)}</a
      >`,
  )}!${when(
    rest.get('issue'),
    ({ href, total }) =>
      html`<a role="option" id="found-all" href="${href}" tabindex="-1"
        >All ${total} issues with it in their title</a
      >`,
  )}`;

/** Each shortcut with what it does; `g` and a letter navigate. @param writes whether the reader may change things */
const keys = (writes: boolean): [keys: string, does: string][] => [
  [t`Ctrl K, ⌘ K`, t`find anything, go anywhere`],
  ['/', t`to the filter of the page, or the search`],
  ...(writes ? writingKeys() : []),
  ['?', t`this page`],
  ['j, k', t`down and up in a list`],
  ['h', t`snooze an item in the inbox`],
  ['e', t`mark the issue in the inbox as read`],
  [t`Enter`, t`open what has the focus`],
  [t`Arrow keys`, t`from card to card on the board`],
  [t`Ctrl Enter, ⌘ Enter`, t`send what is being written`],
  ['g d', t`to the dashboard`],
  ['g b', t`to the board`],
  ['g i', t`to the issues`],
  ['g a', t`to the agents`],
  ['g r', t`to the runs`],
  ['g c', t`to the costs`],
  ['g n', t`to the inbox`],
];

const writingKeys = (): [keys: string, does: string][] => [
  ['c', t`write a new issue`],
  ['x', t`choose the row, of issues or approvals`],
  ['m', t`change the chosen issues, or decide the chosen approvals; Esc goes back to the rows`],
  ['s, p, a', t`change status, priority or assignee of the row`],
  [t`Shift with ← or →`, t`move the card to the next column`],
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
          !${each(keys(mayWrite(context)), keyLine)}
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
