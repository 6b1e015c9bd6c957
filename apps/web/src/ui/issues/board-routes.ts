import { issueEndpoints, issueStatuses } from '@acp/contract';
import { countBoard, listViews, readBoard, readBoardCards, readBoardColumn } from '@acp/core';
import { notFound } from '@acp/kernel';
import { companyPage } from '../kit/company-frame.ts';
import { each, html } from '../kit/html.ts';
import { action, page, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { boardActions, boardBody, boardCounts, columnCards } from './board-page.ts';
import { card } from './card.ts';
import { askedFilter, filterOf, issuesAskedFor, toBoardFilter } from './issue-filter.ts';
import { choicesOf, said } from './list-routes.ts';
import { t } from '../kit/language.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byIssue = { by: 'issue', param: 'issueId' } as const;

export const boardRoutes: UiRoute[] = [
  page('/companies/{companyId}/board', { scope: byCompany, role: 'viewer' }, async (context) => {
    const { tx, company_id, user } = context;
    const asked = await askedFilter(context);
    const { filter } = asked;
    const columns = await readBoard(tx, company_id, toBoardFilter(filter));
    const choices = await choicesOf(context, filter);
    return companyPage(context, {
      title: t`Board`,
      active: `/companies/${company_id}/board`,
      wide: true,
      actions: mayWrite(context) ? boardActions(company_id) : '',
      body: boardBody({
        said: said(context.query.done),
        company_id,
        columns,
        filter,
        asked,
        choices,
        views: (await listViews(tx, user, company_id, {})).items,
        can_write: mayWrite(context),
      }),
    });
  }),
  // Cards that have changed, without those that the board with this filter does not show, and the numbers of issues: the script does
  // not know where a card was that it did not show.
  page('/companies/{companyId}/board/part/cards', { scope: byCompany, role: 'viewer' }, async (context) => {
    const { tx, company_id, query } = context;
    const filter = toBoardFilter(filterOf(query));
    const cards = await readBoardCards(tx, company_id, issuesAskedFor(query), filter);
    const counts = await countBoard(tx, company_id, filter);
    return html`!${each(cards, (shown) => card(shown, mayWrite(context)))}!${boardCounts(counts)}`;
  }),
  // For open pages of the previous release: to them, a card that is not found is one of a deleted issue.
  page('/issues/{issueId}/card', { scope: byIssue, role: 'viewer' }, async (context) => {
    const { tx, subject, company_id, query } = context;
    const cards = await readBoardCards(tx, company_id, [subject.id], toBoardFilter(filterOf(query)));
    return each(cards, (shown) => card(shown, mayWrite(context)));
  }),
  // The next cards of a column; the script may want as many as it has had before.
  page(
    '/companies/{companyId}/board/part/{status}',
    { scope: byCompany, role: 'viewer' },
    async (context) => {
      const { tx, company_id, params, query } = context;
      const status = issueStatuses.find((known) => known === params.status);
      if (status === undefined) throw notFound();
      const filter = filterOf(query);
      const cards = Number(query.cards);
      const place = {
        status,
        ...(query.cursor && { cursor: query.cursor }),
        ...(Number.isSafeInteger(cards) && { cards }),
      };
      const column = await readBoardColumn(tx, company_id, toBoardFilter(filter), place);
      return columnCards({ status, ...column }, { company_id, filter, can_write: mayWrite(context) });
    },
  ),
  action('/issues/{issueId}/move', issueEndpoints.update, {
    read: (form) => ({ status: form.given('status') }),
    next: async ({ tx, subject, fragment, company_id }) => {
      if (!fragment) return `/companies/${company_id}/board`;
      const [shown] = await readBoardCards(tx, company_id, [subject.id], {});
      // Who has moved it may move it.
      return shown ? card(shown, true) : '';
    },
  }),
];
