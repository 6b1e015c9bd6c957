import { viewEndpoints, type ViewLayout } from '@acp/contract';
import { action, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { filterOf, pathWith } from './issue-filter.ts';

const listOf = (company_id: string, layout: string): string =>
  `/companies/${company_id}/${layout === 'board' ? 'board' : 'issues'}`;

const backTo = ({ subject }: UiContext<'saved_view'>): string => {
  const { company_id, layout } = subject;
  return listOf(company_id, layout);
};

/** The filter of a new view is taken from the query of the form's address. */
export const viewRoutes: UiRoute[] = [
  action('/companies/{companyId}/views', viewEndpoints.create, {
    read: (form, { query }) => ({
      name: form.text('name'),
      layout: form.given('layout') as ViewLayout | undefined,
      shared: form.checked('shared'),
      filter: filterOf(query),
    }),
    next: ({ company_id }, view) => pathWith(listOf(company_id, view.layout), view.filter, { done: 'kept' }),
  }),
  action('/views/{viewId}/shared', viewEndpoints.update, {
    read: (form) => ({ shared: form.checked('shared') }),
    next: backTo,
  }),
  action('/views/{viewId}/delete', viewEndpoints.delete, { next: backTo }),
];
