/** A project's repository settings: where programs work, and the commands run around them. */
import type { BodyOf, Project, projectEndpoints } from '@acp/contract';
import { invalid } from '@acp/kernel';
import type { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { checkbox, input, textarea } from '../kit/parts.ts';

export const repositoryFields = [
  'repo_url',
  'base_branch',
  'branch_template',
  'repo_secret',
  'setup_command',
  'check_command',
  'env',
  'push_after_run',
  'close_on_merge',
  'workspace_days',
] as const;

type Field = (typeof repositoryFields)[number];

/** @param admin secrets, commands and pushing are reserved for admins */
export function repositoryForm(
  project: Project | null,
  form: FormValues | null,
  errors: FieldErrors,
  admin: boolean,
): Html {
  const typed = (name: Exclude<Field, 'env'>): string =>
    form?.has(name) ? form.text(name) : String(project?.[name] ?? '');
  const ticked = (name: 'push_after_run' | 'close_on_merge'): boolean =>
    form?.has(name) ? form.checked(name) : (project?.[name] ?? false);
  const field = (name: Exclude<Field, 'env'>, label: string, hint: string) => ({
    name,
    label,
    hint,
    value: typed(name),
    error: errors.of(name),
  });
  const variables = form?.has('env') ? form.text('env') : linesOf(project?.env ?? {});
  const open = repositoryFields.some((name) => errors.of(name) !== null) || Boolean(project?.repo_url);
  return html`<details class="edit" !${open ? 'open' : ''}>
    <summary>Repository</summary>
    <div class="row">
      !${input(field('repo_url', t`Repository`, t`https://…, ssh://… or git@host:path: each issue gets its own branch`))}
      !${input(field('base_branch', t`Base branch`, t`Empty: the repository’s default`))}
      !${input(field('branch_template', t`Branches`, t`Empty: {identifier}-{slug}`))}
    </div>
    <div class="row">
      !${when(admin, () => input(field('repo_secret', t`Secret for it`, t`Name of a secret: an HTTPS token, user:token, or a private SSH key. Only git receives it.`)))}
      !${input({ ...field('workspace_days', t`Days to keep folders`, t`After their issue is closed`), type: 'number', min: 1 })}
    </div>
    !${when(
      admin,
      () =>
        html`<div class="row">
            !${input(field('setup_command', t`Set-up command`, t`Run in a new folder, and when lock files change`))}
            !${input(field('check_command', t`Check command`, t`Run after each run that changed something`))}
          </div>
          !${textarea({ name: 'env', label: 'Environment', items: '=', rows: 3, mono: true, value: variables, hint: 'NAME=value, one per line; a value may be ${secret:NAME}, one of several lines is "first\\nsecond"', error: errors.of('env') })}
          !${checkbox({ name: 'push_after_run', label: 'Push the branch after each run', checked: ticked('push_after_run') })}`,
    )}
    !${checkbox({ name: 'close_on_merge', label: 'Close the issue when its pull request is merged', checked: ticked('close_on_merge') })}
  </details>`;
}

const linesOf = (env: Readonly<Record<string, string>>): string =>
  Object.entries(env)
    .map(([name, value]) => `${name}=${isQuoted(value) ? JSON.stringify(value) : value}`)
    .join('\n');

/** Of several lines, which the form has one of; and what would be read as such. */
const isQuoted = (value: string): boolean => /[\n\r]/.test(value) || unquoted(value) !== value;

/** The value that the text of a line stands for: itself, unless it is a JSON string of several lines, or of a text like that. */
function unquoted(text: string): string {
  if (!/^".*"$/.test(text)) return text;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' && isQuoted(value) ? value : text;
  } catch {
    return text;
  }
}

/** Fields missing from the form are left unchanged. @throws invalid for a line without a name, or a malformed number */
export function readRepository(
  form: FormValues,
): Pick<NonNullable<BodyOf<typeof projectEndpoints.update>>, Field> {
  return {
    repo_url: form.cleared('repo_url'),
    base_branch: form.cleared('base_branch'),
    branch_template: form.cleared('branch_template'),
    repo_secret: form.cleared('repo_secret'),
    setup_command: form.cleared('setup_command'),
    check_command: form.cleared('check_command'),
    env: form.has('env') ? variablesOf(form.text('env')) : undefined,
    push_after_run: form.has('push_after_run') ? form.checked('push_after_run') : undefined,
    close_on_merge: form.has('close_on_merge') ? form.checked('close_on_merge') : undefined,
    workspace_days: form.number('workspace_days'),
  };
}

function variablesOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=');
      if (at < 1) throw invalid('env: NAME=value, one a line');
      return [line.slice(0, at).trim(), unquoted(line.slice(at + 1))];
    }),
  );
}
