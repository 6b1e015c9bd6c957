import type { Logo } from '@acp/contract';
import { type CompanyRow, countWaiting, findCompany, findLogo } from '@acp/core';
import type { Tx } from '@acp/db';
import { notFound, ServiceError } from '@acp/kernel';
import { shell, type ShellOptions } from './shell.ts';
import type { UiContext } from './ui-routes.ts';
import { html, type Html } from './html.ts';
import { stoppedWork } from './stopped-work.ts';

/** A company page, in a frame with the company's name and sections. */
export async function companyPage(
  context: UiContext,
  options: Omit<ShellOptions, 'user' | 'company' | 'counts' | 'cursor'>,
): Promise<Html> {
  const company = await requireCompany(context.tx, context.company_id);
  const { approvals, inbox } = await countWaiting(context.tx, context.user, context.company_id);
  const logo = await logoOf(context.tx, context.company_id);
  const { user, cursor, services } = context;
  const body = html`!${stoppedWork(services.instance, user)}!${options.body}`;
  return shell({
    ...options,
    body,
    user,
    company: { ...company, logo },
    counts: { approvals, inbox },
    cursor,
  });
}

/** Null if the company has no logo. */
export async function logoOf(tx: Tx, company_id: string): Promise<Logo | null> {
  return findLogo(tx, company_id).catch((error: unknown) => {
    if (error instanceof ServiceError && error.kind === 'not_found') return null;
    throw error;
  });
}

export async function requireCompany(tx: Tx, company_id: string): Promise<CompanyRow> {
  const company = await findCompany(tx, company_id);
  if (!company) throw notFound();
  return company;
}
