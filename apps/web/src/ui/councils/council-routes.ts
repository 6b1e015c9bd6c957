import { councilEndpoints as rows } from '@acp/contract';
import { findIssue, presentCouncil, turnsInProgress } from '@acp/core';
import { notFound } from '@acp/kernel';
import { companyPage } from '../kit/company-frame.ts';
import type { Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { councilBody, councilPart, type CouncilView } from './council-pages.ts';

const byCouncil = { by: 'council_session', param: 'councilSessionId' } as const;
type CouncilContext = UiContext<'council_session'>;

async function viewOf(context: CouncilContext): Promise<CouncilView> {
  const { tx, subject } = context;
  return {
    session: await presentCouncil(tx, subject),
    in_progress: await turnsInProgress(tx, subject),
    can_write: mayWrite(context),
  };
}

async function councilPage(context: CouncilContext, error: string | null = null): Promise<Html> {
  const { tx, subject, services } = context;
  services.instance.requireFeature(rows.get);
  const issue = await findIssue(tx, subject.issue_id);
  if (issue === undefined) throw notFound();
  const board = { label: t`Board`, path: `/companies/${issue.company_id}/board` };
  return companyPage(context, {
    title: t`Council on ${issue.identifier}`,
    active: board.path,
    trail: [board, { label: issue.identifier, path: `/issues/${issue.id}` }],
    wide: true,
    body: councilBody(await viewOf(context), error),
  });
}

export const councilUiRoutes: UiRoute[] = [
  page('/councils/{councilSessionId}', { scope: byCouncil, role: 'viewer' }, (c) => councilPage(c)),
  // Fetched by the script on changes.
  page('/councils/{councilSessionId}/part/rounds', { scope: byCouncil, role: 'viewer' }, async (c) => {
    c.services.instance.requireFeature(rows.get);
    return councilPart(await viewOf(c));
  }),
  action('/councils/{councilSessionId}/cancel', rows.cancel, {
    next: ({ subject }) => `/councils/${subject.id}`,
    failed: councilPage,
  }),
];
