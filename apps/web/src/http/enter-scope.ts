import { notFound } from '@acp/kernel';
import type { Call, CallDeps } from './call.ts';
import { requireRole } from './roles.ts';
import { loadScope } from './scope.ts';

/** Finds the call's company and subject, and checks the caller against the row. @throws notFound, forbidden */
export async function enterScope(call: Call, { database, services }: CallDeps): Promise<void> {
  const { row, scopeParam, inCompany } = call.mounted;
  const id = scopeParam === undefined ? '' : (call.params[scopeParam] ?? '');
  const scoped = await loadScope(database.db, call.actor, row, id);
  call.company_id = scoped.company_id;
  call.subject = scoped.subject;
  // The path must name the subject's own company: under another one the subject does not exist.
  if (inCompany && call.params.companyId !== scoped.company_id) throw notFound();
  requireRole(row, call.actor, scoped.company_id);
  services.instance.requireEntitlement(row);
}
