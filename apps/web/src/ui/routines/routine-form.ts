/** The form of a new or an existing routine. */
import { concurrencyPolicies, priorities, type Routine, routineStatuses } from '@acp/contract';
import { asShown } from '../kit/as-shown.ts';
import { choice, type Offer } from '../kit/choice.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { type Choice, formError, input, select, textarea } from '../kit/parts.ts';

/** What the routine's issues can be linked to. */
export interface RoutineChoices {
  agents: Offer;
  projects: Offer;
  goals: Offer;
}

const fields = [
  'name',
  'description',
  'assignee_agent_id',
  'project_id',
  'goal_id',
  'title_template',
  'body_template',
  'priority',
  'status',
  'concurrency_policy',
] as const;
type Field = (typeof fields)[number];

export const policyWords: Readonly<Record<Routine['concurrency_policy'], string>> = texts({
  coalesce_if_active: 'comment on that issue',
  skip_if_active: 'do nothing',
  always_enqueue: 'create another issue',
});

/** A rejected form, with what was typed. */
export interface Refused {
  error: string;
  form: FormValues;
}

export async function routineForm(
  path: string,
  choices: RoutineChoices,
  routine: Routine | null,
  refused: Refused | null,
): Promise<Html> {
  const errors = new FieldErrors(refused?.error ?? null, fields);
  const field = <N extends Field>(name: N, label: string, hint?: string) => ({
    name,
    label,
    value: refused?.form.has(name) ? refused.form.text(name) : (routine?.[name] ?? ''),
    error: errors.of(name),
    ...(hint === undefined ? {} : { hint }),
  });
  const pick = (name: Field, label: string, of: readonly Choice[], fallback = '') => {
    const options = field(name, label);
    return select({ ...options, value: options.value || fallback, choices: of });
  };
  const form = html`<form class="card" method="post" action="${path}">
    !${formError(errors.general)}
    <div class="row">
      !${input({ ...field('name', t`Name`), required: true })}
      !${pick('status', t`State`, plain(routineStatuses), 'active')}
    </div>
    !${textarea({ ...field('description', t`What it is for`, t`Markdown, for people; issues do not repeat it`), rows: 3 })}
    <h2>Its issues</h2>
    !${input({ ...field('title_template', t`Title`, titleHint(routine)), required: routine !== null })}
    !${textarea({ ...field('body_template', t`Description`, bodyHint()), rows: 8 })}
    <div class="row">
      !${choice({ ...field('assignee_agent_id', t`Agent`), offer: choices.agents, fixed: [{ value: '', label: t`nobody` }] })}
      !${pick('priority', t`Priority`, plain(priorities), 'medium')}
    </div>
    <div class="row">
      !${choice({ ...field('project_id', t`Project`), offer: choices.projects, fixed: [none()] })}
      !${choice({ ...field('goal_id', t`Goal`), offer: choices.goals, fixed: [none()] })}
      !${pick('concurrency_policy', t`Fired while its last issue is open`, policies(), 'coalesce_if_active')}
    </div>
    <button>Save</button>
  </form>`;
  return routine === null ? form : asShown(form, refused?.form ?? null);
}

const none = (): Choice => ({ value: '', label: t`none` });
const plain = (values: readonly string[]): Choice[] =>
  values.map((value) => ({ value, label: words(value) }));
const policies = (): Choice[] => concurrencyPolicies.map((value) => ({ value, label: policyWords[value] }));

const bodyHint = (): string =>
  t`Markdown. {{payload}}, {{payload.some.path}}, {{now}} and {{routine.name}} are filled in`;
const titleHint = (routine: Routine | null): string =>
  routine === null
    ? t`Filled in like the description. Empty: the name of the routine`
    : t`Filled in like the description`;

/** Maps the form to the body of `routines.create` and `routines.update`. */
export const readRoutine = (form: FormValues) => ({
  name: form.sent('name'),
  description: form.cleared('description'),
  assignee_agent_id: form.chosen('assignee_agent_id'),
  project_id: form.chosen('project_id'),
  goal_id: form.chosen('goal_id'),
  title_template: form.given('title_template'),
  body_template: form.cleared('body_template'),
  priority: form.given('priority'),
  status: form.given('status'),
  concurrency_policy: form.given('concurrency_policy'),
});
