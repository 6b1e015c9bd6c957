/** Who may set which repository settings of a project. Pure: no tx, no clock. */
import type { Actor, UpdateProject } from '@acp/contract';
import { forbidden, invalid, parseRepositoryUrl, said } from '@acp/kernel';
import { isCompanyAdmin } from '../agents/index.ts';
import type { ProjectRow } from './present.ts';

/** These expose secrets, run commands or write to the repository. */
const forAdmins = ['repo_secret', 'setup_command', 'check_command', 'env', 'push_after_run'] as const;

/**
 * @param before null: a new project
 * @throws invalid for anything git would reject or misinterpret; forbidden for what is reserved for admins. Naming the
 * repository determines where its secret goes and whose code gets the project's environment, so it is the same right.
 */
export function assertRepository(
  actor: Actor,
  company_id: string,
  before: ProjectRow | null,
  input: UpdateProject,
): void {
  const { repo_url, base_branch, branch_template } = input;
  const changes = (field: keyof UpdateProject & keyof ProjectRow) =>
    input[field] !== undefined && !same(input[field], before?.[field] ?? defaults[field] ?? null);
  if (repo_url && changes('repo_url') && parseRepositoryUrl(repo_url) === undefined)
    throw invalid('repo_url: https://…, ssh://… or user@host:path, without a password');
  if (base_branch && !isBranchName(base_branch)) throw invalid('base_branch is not a valid branch name');
  if (branch_template && !isTemplate(branch_template))
    throw invalid('branch_template: the name of a branch, with {identifier} in it');
  if (isCompanyAdmin(actor, company_id)) return;
  const denied = forAdmins.find(changes);
  if (denied !== undefined) throw forbidden(said`${denied} is for admins`);
  const trusted = before?.repo_secret || (before?.env && Object.keys(before.env).length > 0);
  if (trusted && changes('repo_url'))
    throw forbidden('only admins can change the repository of a project with a secret or an environment');
}

const defaults: Partial<Record<string, unknown>> = { env: {}, push_after_run: false };

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** By the rules of `git check-ref-format`, of which the schema covers a part. */
export function isBranchName(name: string): boolean {
  if (name.length > 200 || !/^[A-Za-z0-9_][A-Za-z0-9._/+#@-]*$/.test(name)) return false;
  return !/\.\.|\/\/|@\{|\/\.|\.lock(\/|$)|[/.]$/.test(name);
}

function isTemplate(template: string): boolean {
  const filled = fillTemplate(template, { identifier: 'ABC-1', slug: 'a-title' });
  return template.includes('{identifier}') && isBranchName(filled);
}

/** The branch's name; the default template is `{identifier}-{slug}`. */
export function branchName(
  template: string | null,
  { identifier, title }: { identifier: string; title: string },
): string {
  const slug = title
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replaceAll(/^-+|-+$/g, '');
  const filled = fillTemplate(template ?? '{identifier}-{slug}', { identifier, slug }).replace(/[-/.]+$/, '');
  return isBranchName(filled) ? filled : identifier;
}

const fillTemplate = (template: string, parts: { identifier: string; slug: string }): string =>
  template.replaceAll('{identifier}', parts.identifier).replaceAll('{slug}', parts.slug);
