import { CreateCompany, createValidator } from '@acp/contract';
import {
  createCompany,
  findCompany,
  findCompanyBySlug,
  listCompanies,
  presentCompany,
  systemActor,
} from '@acp/core';
import { transaction } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { type Answer, type Command, type CommandContext, option, table, UsageError } from '../command.ts';

/** The company that an option names by id or slug. */
export async function companyOf(context: CommandContext) {
  const name = option(context, 'company');
  const { db } = context.database;
  const company = isUuid(name) ? await findCompany(db, name) : await findCompanyBySlug(db, name);
  if (!company) throw new UsageError(`no company has the id or slug ${name}`);
  return company;
}

const newCompany = createValidator(CreateCompany, 'company');

async function create(context: CommandContext): Promise<Answer> {
  const input = newCompany({ name: option(context, 'name'), slug: option(context, 'slug') });
  const company = await transaction(context.database, (tx) =>
    createCompany(tx, systemActor('operator'), input),
  );
  return { value: company, text: `created ${company.name}: ${company.id}` };
}

async function list(context: CommandContext): Promise<Answer> {
  const companies = (await listCompanies(context.database.db, null)).map(presentCompany);
  return { value: companies, text: table(companies, ['id', 'slug', 'name', 'created_at']) };
}

export const companies: Record<string, Command> = {
  create: {
    usage: 'companies create --name <text> --slug <slug>',
    doc: 'Creates a company.',
    required: ['name', 'slug'],
    run: create,
  },
  list: { usage: 'companies list', doc: 'Lists the companies.', run: list },
};
