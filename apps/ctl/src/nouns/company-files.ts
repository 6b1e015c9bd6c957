/** Companies as files: export, import, and templates (docs/portability.md). */
import { createValidator, NewCompany, ProviderKeys } from '@acp/contract';
import {
  companyTemplate,
  finishExport,
  importCompany,
  listTemplates,
  readBundle,
  readExport,
  systemActor,
} from '@acp/core';
import { transaction } from '@acp/db';
import { pickEnvironment, repositoryRoot, Vault } from '@acp/kernel';
import { join } from 'node:path';
import { type Answer, type Command, type CommandContext, table, UsageError } from '../command.ts';
import { openGiven } from '../given-file.ts';
import { writeNewFile } from '../new-file.ts';
import { companyOf } from './company-of.ts';

const operator = systemActor('operator');
const folder = join(repositoryRoot, 'examples/companies');
const newCompany = createValidator(NewCompany, 'company');
const providerKeys = createValidator(ProviderKeys, 'provider keys');

const vaultOf = ({ config }: CommandContext) =>
  new Vault(config.encryption_key, config.encryption_key_previous);

async function exportToFile(context: CommandContext): Promise<Answer> {
  const { database, config, options } = context;
  const { include = '', file } = options;
  if (!['', 'issues'].includes(include)) throw new UsageError('--include takes: issues');
  const { id } = await companyOf(context);
  const limits = { issues: include === 'issues', max_bytes: config.max_upload_size };
  const read = await transaction(database, (tx) => readExport(tx, operator, id, vaultOf(context), limits));
  const bundle = await finishExport(read);
  const text = JSON.stringify(bundle, null, 2);
  if (file === undefined) return { value: bundle, text };
  await writeNewFile(file, `${text}\n`);
  const omitted = (bundle.manifest?.omitted ?? []).map(({ what, count }) => ({ 'left out': what, count }));
  return {
    value: { file, omitted: bundle.manifest?.omitted },
    text: `wrote ${file}\n\n${table(omitted, ['left out', 'count'])}`,
  };
}

async function bundleOf({ options: { file, template } }: CommandContext) {
  if ((file === undefined) === (template === undefined))
    throw new UsageError('either --file or --template is required');
  if (template === undefined) return readBundle(await contentOf(file!));
  const known = await listTemplates(folder);
  if (known.every(({ slug }) => slug !== template))
    throw new UsageError(`there is no template ${template}: \`companies templates\` lists them`);
  return companyTemplate(folder, template);
}

async function contentOf(file: string): Promise<Buffer> {
  await using handle = await openGiven(file);
  return handle.readFile();
}

async function jsonIn(file: string): Promise<unknown> {
  const content = await contentOf(file);
  try {
    return JSON.parse(content.toString());
  } catch {
    throw new UsageError(`${file} is not JSON`);
  }
}

async function importFromFile(context: CommandContext): Promise<Answer> {
  const { config, database, options } = context;
  const bundle = await bundleOf(context);
  const { slug, name = bundle.company.name } = options;
  if ((options.company === undefined) === (slug === undefined))
    throw new UsageError('either --slug (a new company) or --company (merge into it) is required');
  const keys = options['provider-keys'];
  const dry_run = options['dry-run'] !== undefined;
  const input = {
    bundle,
    ...(slug === undefined
      ? { company_id: (await companyOf(context)).id }
      : { new_company: newCompany({ name, slug }) }),
    provider_keys: keys === undefined ? {} : providerKeys(await jsonIn(keys)),
    dry_run,
  };
  const rules = {
    adapters: {
      docker_images: config.docker_images,
      cli_sandbox_image: config.cli_sandbox_image,
      lambda_functions: config.lambda_functions,
    },
    providers: { egress: config.provider_egress },
  };
  const environment = {
    allowed_envs: config.import_key_envs,
    allowed_hosts: config.llm_allowed_hosts,
    readEnv: (variable: string) => pickEnvironment([variable])[variable],
  };
  const outcome = await transaction(database, (tx) =>
    importCompany(tx, operator, input, { vault: vaultOf(context), rules, environment }),
  );
  const made = Object.entries(outcome.created).map(([list, created]) => ({ list, created }));
  const skipped = outcome.skipped.map(
    ({ type, name: called, reason }) => `skipped: ${type} ${called}: ${reason}`,
  );
  const head = dry_run ? 'nothing is changed; this would be made:' : `imported into ${outcome.company_id}`;
  const text = [head, table(made, ['list', 'created']), ...skipped, ...outcome.warnings].join('\n');
  return { value: outcome, text };
}

async function templates(): Promise<Answer> {
  const list = await listTemplates(folder);
  const rows = list.map(({ agents, ...each }) => ({ ...each, agents: agents.length }));
  return { value: list, text: table(rows, ['slug', 'name', 'agents', 'description']) };
}

export const companyFiles: Record<string, Command> = {
  export: {
    usage: 'companies export --company <id or slug> [--include issues] [--file <new file>]',
    doc: 'Writes the company to a bundle, without its secrets.',
    required: ['company'],
    optional: ['include', 'file'],
    run: exportToFile,
  },
  import: {
    usage:
      'companies import --file <bundle> | --template <name>  --slug <new slug> [--name <text>] | --company <id or slug>  [--provider-keys <JSON file>] [--dry-run]',
    doc: 'Creates a company from a bundle or a template, or merges it into an existing company: all or nothing.',
    optional: ['file', 'template', 'slug', 'name', 'company', 'provider-keys'],
    flags: ['dry-run'],
    run: importFromFile,
  },
  templates: { usage: 'companies templates', doc: 'Lists the company templates.', run: templates },
};
