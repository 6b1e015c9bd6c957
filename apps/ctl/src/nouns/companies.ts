import { CreateCompany, createValidator } from '@acp/contract';
import { createCompany, listCompanies, presentCompany, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import { type Answer, type Command, type CommandContext, option, table } from '../command.ts';
import { companyFiles } from './company-files.ts';

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
  ...companyFiles,
};
