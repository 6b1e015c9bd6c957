import { roleIn } from '../../http/roles.ts';
import { companyPage } from '../kit/company-frame.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { type Choice, tabs } from '../kit/parts.ts';
import type { UiContext } from '../kit/ui-routes.ts';

export type CompanyContext = UiContext<'company'>;

export const byCompany = { by: 'company', param: 'companyId' } as const;

export const membersPath = (company_id: string): string => `/companies/${company_id}/members`;

export const isAdmin = ({ user, company_id }: CompanyContext): boolean =>
  roleIn(user, company_id) === 'admin';

/** What was decided about a request to join. */
export const joinDecisions: Record<string, string> = texts({
  approved: 'Approved: a member now.',
  rejected: 'Rejected.',
});

/** Roles, each with what it permits. */
export const roleChoices = (): Choice[] => [
  { value: 'viewer', label: t`viewer: reads` },
  { value: 'member', label: t`member: works` },
  { value: 'admin', label: t`admin: decides` },
];

/** Frame of the pages on members and ways in: one navigation entry. */
export async function accessPage(context: CompanyContext, below: string, body: Html): Promise<Html> {
  const base = membersPath(context.company_id);
  const pages = [
    { label: t`Members`, path: base },
    { label: t`Invites`, path: `${base}/invites` },
    { label: t`Requests`, path: `${base}/requests` },
    ...(isAdmin(context) ? [{ label: t`Keys`, path: `${base}/keys` }] : []),
  ];
  return companyPage(context, {
    title: t`Members`,
    active: base,
    body: html`!${tabs('Members', pages, base + below)}!${body}`,
  });
}
