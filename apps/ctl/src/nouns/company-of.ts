import { findCompany, findCompanyBySlug } from '@acp/core';
import { isUuid } from '@acp/kernel';
import { type CommandContext, option, UsageError } from '../command.ts';

/** The company named by an option, by id or slug. */
export async function companyOf(context: CommandContext) {
  const name = option(context, 'company');
  const { db } = context.database;
  const company = isUuid(name) ? await findCompany(db, name) : await findCompanyBySlug(db, name);
  if (!company) throw new UsageError(`no company has the id or slug ${name}`);
  return company;
}
