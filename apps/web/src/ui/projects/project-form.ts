import { type Project, projectStatuses } from '@acp/contract';
import { asShown } from '../kit/as-shown.ts';
import { choice, type Offer } from '../kit/choice.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, t } from '../kit/html.ts';
import { formError, input, select, textarea } from '../kit/parts.ts';
import { readRepository, repositoryFields, repositoryForm } from './repository-form.ts';

export interface Choices {
  goals: Offer;
  agents: Offer;
}

export async function projectForm(
  path: string,
  heading: string,
  choices: Choices,
  error: string | null,
  form: FormValues | null,
  project: Project | null,
  admin: boolean,
): Promise<Html> {
  const errors = new FieldErrors(error, [
    'name',
    'description',
    'status',
    'goal_id',
    'lead_agent_id',
    ...repositoryFields,
  ]);
  const typed = (name: Exclude<keyof Project, 'env'>): string =>
    form?.has(name) ? form.text(name) : String(project?.[name] ?? '');
  const none = { value: '', label: t`none` };
  const statuses = projectStatuses.map((value) => ({ value, label: words(value) }));
  const whole = html`<form class="card" method="post" action="${path}">
    <h2>${heading}</h2>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'name', label: 'Name', required: true, value: typed('name'), error: errors.of('name') })}
      !${select({ name: 'status', label: 'Status', value: typed('status') || 'active', choices: statuses, error: errors.of('status') })}
    </div>
    <div class="row">
      !${choice({ name: 'goal_id', label: 'Goal', value: typed('goal_id'), offer: choices.goals, fixed: [none], error: errors.of('goal_id') })}
      !${choice({ name: 'lead_agent_id', label: 'Lead', value: typed('lead_agent_id'), offer: choices.agents, fixed: [none], error: errors.of('lead_agent_id') })}
    </div>
    !${textarea({ name: 'description', label: 'What it is', rows: 6, value: typed('description'), hint: 'Markdown; agents read it with every issue of the project', error: errors.of('description') })}
    !${repositoryForm(project, form, errors, admin)}
    <button>Save</button>
  </form>`;
  return project === null ? whole : asShown(whole, form);
}

export const readProject = (form: FormValues) => ({
  name: form.sent('name'),
  status: form.given('status'),
  goal_id: form.chosen('goal_id'),
  lead_agent_id: form.chosen('lead_agent_id'),
  description: form.cleared('description'),
  ...readRepository(form),
});
