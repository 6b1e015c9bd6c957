/** Budgets with their usage, and the forms that create and change them. */
import { type BudgetPolicy, budgetActions, budgetWindows } from '@acp/contract';
import type { BudgetUsage } from '@acp/core';
import { asShown } from '../kit/as-shown.ts';
import { choice, offerOf } from '../kit/choice.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { checkbox, emptyState, formError, input, postButton, select } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import {
  actionNames,
  budgetName,
  scopeKind,
  scopeOf,
  usagePart,
  usageState,
  windowNames,
  windowPart,
} from './budget-words.ts';
import { budgetsPath } from './costs-frame.ts';
import { openIncidentsPart } from './incident-pages.ts';
import type { Incident } from './incidents.ts';

/** The part of the page that refreshes itself. */
export interface BudgetsView {
  company_id: string;
  budgets: readonly BudgetUsage[];
  next_cursor: string | null;
  open: readonly Incident[];
  /** Admins set limits; everyone else only sees them. */
  is_admin: boolean;
}

export function budgetsParts(view: BudgetsView): Html {
  const { company_id, budgets, next_cursor, is_admin } = view;
  const list =
    budgets.length > 0
      ? html`<section class="card">
          <h2>Budgets</h2>
          !${table('Budgets', budgetColumns(is_admin), budgets)}
          !${moreLink(budgetsPath(company_id), next_cursor, 'Older budgets')}
        </section>`
      : emptyState(
          'No budgets yet',
          html`Without one, agents spend whatever their work costs. A budget warns in time, and can stop what
          it covers.`,
        );
  return html`!${openIncidentsPart(view.open, is_admin)}!${list}`;
}

function budgetColumns(is_admin: boolean): Column<BudgetUsage>[] {
  const name = (usage: BudgetUsage): Html =>
    is_admin
      ? html`<a href="/budget-policies/${usage.policy.id}">${scopeOf(usage)}</a>`
      : html`${scopeOf(usage)}`;
  return [
    {
      label: 'Bounds',
      cell: (usage) => html`!${name(usage)} <span class="soft small">${scopeKind(usage)}</span>`,
    },
    { label: 'Spent', cell: usagePart },
    { label: 'Window', cell: windowPart },
    { label: 'At the limit', cell: ({ policy }) => html`${actionNames[policy.action]}` },
    { label: 'State', cell: usageState },
  ];
}

/** Form values and their errors: those of a budget, or what was typed. */
interface Fields {
  typed: (name: 'window' | 'limit_usd' | 'warn_percent' | 'at_limit') => string;
  errors: FieldErrors;
  enabled: boolean;
}

function fieldsOf(policy: BudgetPolicy | null, error: string | null, form: FormValues | null): Fields {
  const names = ['agent_id', 'project_id', 'window', 'limit_usd', 'warn_percent', 'at_limit'];
  const fresh = { window: 'month', limit_usd: '', warn_percent: 80, action: 'pause' } as const;
  const { action, ...rest } = policy ?? fresh;
  // A field named `action` would shadow the form's own `action` property in scripts.
  const values = { ...rest, at_limit: action };
  return {
    typed: (name) => (form?.has(name) ? form.text(name) : String(values[name])),
    errors: new FieldErrors(error, names, { scope_: 'agent_id', 'body.action': 'at_limit' }),
    enabled: form?.has('enabled') ? form.checked('enabled') : (policy?.enabled ?? true),
  };
}

function limitFields({ typed, errors, enabled }: Fields): Html {
  const windows = budgetWindows.map((value) => ({ value, label: windowNames[value] }));
  const actions = budgetActions.map((value) => ({ value, label: actionNames[value] }));
  return html`<div class="row">
      !${input({ name: 'limit_usd', label: 'Limit (USD)', required: true, value: typed('limit_usd'), error: errors.of('limit_usd') })}
      !${select({ name: 'window', label: 'Window', value: typed('window'), choices: windows, hint: 'In UTC; weeks begin on Monday', error: errors.of('window') })}
      !${input({ name: 'warn_percent', label: 'Warn at (% of the limit)', type: 'number', min: 1, value: typed('warn_percent'), error: errors.of('warn_percent') })}
      !${select({ name: 'at_limit', label: 'When the limit is reached', value: typed('at_limit'), choices: actions, hint: 'Stopping: nothing new starts until a person decides or the window ends', error: errors.of('at_limit') })}
    </div>
    !${checkbox({ name: 'enabled', label: 'Switched on', checked: enabled })}`;
}

export async function newBudgetForm(
  context: UiContext,
  error: string | null,
  form: FormValues | null,
): Promise<Html> {
  const agents = await offerOf(context, 'agent', form?.text('agent_id'));
  const projects = await offerOf(context, 'project', form?.text('project_id'));
  const fields = fieldsOf(null, error, form);
  return html`<form class="card" method="post" action="${budgetsPath(context.company_id)}">
    <h2>New budget</h2>
    !${formError(fields.errors.general)}
    <div class="row">
      !${choice({ name: 'agent_id', label: 'Agent', value: form?.text('agent_id') ?? '', offer: agents, fixed: [{ value: '', label: t`every agent` }], hint: 'Without an agent and a project it bounds the whole company', error: fields.errors.of('agent_id') })}
      !${choice({ name: 'project_id', label: 'Project', value: form?.text('project_id') ?? '', offer: projects, fixed: [{ value: '', label: t`every project` }], error: fields.errors.of('project_id') })}
    </div>
    !${limitFields(fields)}
    <button>Create</button>
  </form>`;
}

/** The part of a budget's page that refreshes itself. */
export const budgetPart = (usage: BudgetUsage): Html =>
  html`<p>!${usageState(usage)} !${windowPart(usage)}</p>
    !${usagePart(usage)}`;

export async function budgetBody(
  usage: BudgetUsage,
  error: string | null,
  form: FormValues | null,
): Promise<Html> {
  const { policy } = usage;
  const here = `/budget-policies/${policy.id}`;
  const fields = fieldsOf(policy, error, form);
  const change = html`<form class="card" method="post" action="${here}">
    <h2>Change it</h2>
    !${formError(fields.errors.general)}!${limitFields(fields)}
    <button>Save</button>
  </form>`;
  return html`<section class="card" data-live="budget_incident runs" data-source="${here}/part/usage">
      !${budgetPart(usage)}
    </section>
    !${await asShown(change, form)}
    <section class="card danger">
      <h2>Delete</h2>
      <p>
        Permanent, including its incidents.
        !${when(policy.action === 'pause', () => html`Work that was blocked only by it continues.`)}
      </p>
      !${postButton(`${here}/delete`, 'Delete permanently', { class: 'danger', confirm: t`Delete the budget ${budgetName(usage)}?` })}
    </section>`;
}
