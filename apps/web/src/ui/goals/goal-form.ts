import { type Goal, goalLevels, goalStatuses } from '@acp/contract';
import { choice, offerOf } from '../kit/choice.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { type Choice, formError, input, select, textarea } from '../kit/parts.ts';
import type { UiContext } from '../kit/ui-routes.ts';

export async function goalForm(
  context: UiContext,
  path: string,
  heading: string,
  error: string | null,
  form: FormValues | null,
  goal: Goal | null,
): Promise<Html> {
  const fields = ['title', 'level', 'status', 'parent_goal_id', 'owner_agent_id', 'description'];
  const errors = new FieldErrors(error, fields, { circle: 'parent_goal_id', parent: 'parent_goal_id' });
  const typed = (name: keyof Goal): string =>
    form?.has(name) ? form.text(name) : String(goal?.[name] ?? '');
  const none: Choice = { value: '', label: t`none` };
  const goals = await offerOf(context, 'goal', typed('parent_goal_id'));
  const parents = { ...goals, listed: goals.listed.filter(({ id }) => id !== goal?.id) };
  const owners = await offerOf(context, 'agent', typed('owner_agent_id'));
  const choicesIn = (values: readonly string[]): Choice[] =>
    values.map((value) => ({ value, label: words(value) }));
  return html`<form class="card" method="post" action="${path}">
    <h2>${heading}</h2>
    !${formError(errors.general)}
    !${input({ name: 'title', label: 'Title', required: true, value: typed('title'), error: errors.of('title') })}
    <div class="row">
      !${select({ name: 'level', label: 'Level', value: typed('level') || 'company', choices: choicesIn(goalLevels), error: errors.of('level') })}
      !${select({ name: 'status', label: 'Status', value: typed('status') || 'active', choices: choicesIn(goalStatuses), error: errors.of('status') })}
      !${choice({ name: 'parent_goal_id', label: 'Part of', value: typed('parent_goal_id'), offer: parents, fixed: [none], error: errors.of('parent_goal_id') })}
      !${choice({ name: 'owner_agent_id', label: 'Owner', value: typed('owner_agent_id'), offer: owners, fixed: [none], error: errors.of('owner_agent_id') })}
    </div>
    !${textarea({ name: 'description', label: 'What it means', rows: 4, value: typed('description'), hint: 'Markdown', error: errors.of('description') })}
    <button>Save</button>
  </form>`;
}

export const readGoal = (form: FormValues) => ({
  title: form.sent('title'),
  level: form.given('level'),
  status: form.given('status'),
  parent_goal_id: form.chosen('parent_goal_id'),
  owner_agent_id: form.chosen('owner_agent_id'),
  description: form.cleared('description'),
});
