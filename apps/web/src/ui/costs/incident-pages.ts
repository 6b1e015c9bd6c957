/** Warnings and breaches: open ones with the available actions, resolved ones with their outcome. */
import { FieldErrors } from '../kit/field-errors.ts';
import { money, timeAgo } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { emptyState, formError, input, postButton, status, textarea } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { budgetName, outcomePart, usagePart, windowPart } from './budget-words.ts';
import type { Incident } from './incidents.ts';

const incidentPath = ({ incident }: Incident): string => `/budget-incidents/${incident.id}`;
const resolvePath = (of: Incident): string => `${incidentPath(of)}/resolve`;
const kindOf = ({ incident }: Incident): Html => status(incident.kind);
const figures = ({ incident }: Incident): Html =>
  html`!${money(incident.spent_usd)} <span class="soft">of</span> !${money(incident.limit_usd)}`;

/** A breach that paused work is waived to let it go on; anything else is only acknowledged. */
const waiveLabel = ({ incident, usage }: Incident): string =>
  incident.kind === 'breach' && usage.policy.action === 'pause' ? t`Allow it to continue` : t`Acknowledge`;

export function openIncidentsPart(open: readonly Incident[], is_admin: boolean): Html {
  const acts = (of: Incident): Html =>
    html`<span class="buttons"
      ><a class="button quiet small" href="${incidentPath(of)}">Raise the limit</a
      >!${postButton(resolvePath(of), waiveLabel(of), { class: 'quiet small', fields: { choice: 'waive' } })}</span
    >`;
  const line = (of: Incident): Html =>
    html`<li>
      !${kindOf(of)}
      <a class="grow" href="${incidentPath(of)}">${budgetName(of.usage)}</a>
      <span class="small">!${figures(of)}</span>
      <span class="soft small">!${timeAgo(of.incident.opened_at)}</span>
      !${when(is_admin, () => acts(of))}
    </li>`;
  return when(
    open.length > 0,
    () =>
      html`<section class="card">
        <h2>Open incidents</h2>
        <ul class="list">
          !${each(open, line)}
        </ul>
      </section>`,
  );
}

const pastColumns: Column<Incident>[] = [
  { label: 'Budget', cell: (of) => html`<a href="${incidentPath(of)}">${budgetName(of.usage)}</a>` },
  { label: 'What', cell: kindOf },
  { label: 'Spent', cell: figures },
  { label: 'Opened', cell: ({ incident }) => timeAgo(incident.opened_at) },
  { label: 'Ended', cell: ({ incident }) => timeAgo(incident.resolved_at) },
  { label: 'How', cell: ({ incident, by }) => outcomePart(incident, by) },
];

export function pastIncidentsBody(path: string, past: readonly Incident[], next_cursor: string | null): Html {
  if (past.length === 0)
    return emptyState(
      'No incidents have been resolved yet',
      html`Budget warnings and breaches, and how they were resolved, are kept here.`,
    );
  return html`<div class="card">
    !${table('Past incidents', pastColumns, past)}!${moreLink(path, next_cursor, 'Older incidents')}
  </div>`;
}

export function incidentBody(
  of: Incident,
  is_admin: boolean,
  error: string | null,
  form: FormValues | null,
): Html {
  const { incident, usage, by } = of;
  const errors = new FieldErrors(error, ['limit_usd', 'note']);
  const open = incident.status === 'open';
  const over = html`<dt>Ended</dt>
    <dd>!${timeAgo(incident.resolved_at)}</dd>
    <dt>How</dt>
    <dd>!${outcomePart(incident, by)}</dd>`;
  const policy = is_admin
    ? html`<a href="/budget-policies/${incident.policy_id}">${budgetName(usage)}</a>`
    : html`${budgetName(usage)}`;
  return html`!${formError(errors.general)}
    <section class="card">
      <p>!${kindOf(of)} !${status(incident.status)}</p>
      <dl class="facts">
        <dt>Budget</dt>
        <dd>!${policy}</dd>
        <dt>Then</dt>
        <dd>!${figures(of)}</dd>
        <dt>Now</dt>
        <dd>!${usagePart(usage)}</dd>
        <dt>Window</dt>
        <dd>!${windowPart(usage)}</dd>
        <dt>Opened</dt>
        <dd>!${timeAgo(incident.opened_at)}</dd>
        !${when(!open, () => over)}
      </dl>
      !${when(open && consequence(of), (text) => html`<p>${text}</p>`)}
    </section>
    !${when(open && is_admin, () => resolveForm(of, errors, form))}`;
}

function consequence({ incident, usage: { policy } }: Incident): string {
  if (incident.kind === 'warning') return t`Everything continues: this is a warning before the limit.`;
  if (policy.action === 'notify') return t`Everything continues: the budget only notifies.`;
  if (policy.scope_type === 'project') return t`No runs start on the project’s issues until this is decided.`;
  return policy.scope_type === 'company'
    ? t`All agents of the company are paused until this is decided.`
    : t`The agent is paused until this is decided.`;
}

/** One form with two actions: the browser must not require the limit for the second, which needs none. */
function resolveForm(of: Incident, errors: FieldErrors, form: FormValues | null): Html {
  const { window_end } = of.usage;
  const hint =
    window_end === null ? t`permanently, at this limit` : t`until the window ends, or the limit changes`;
  return html`<form class="card" method="post" action="${resolvePath(of)}">
    <h2>Decide</h2>
    !${input({ name: 'limit_usd', label: 'New limit (USD)', required: true, autofocus: true, value: form?.text('limit_usd') ?? '', error: errors.of('limit_usd'), hint: 'Above the current one; if that is spent already too, the next incident opens immediately' })}
    !${textarea({ name: 'note', label: 'Note', rows: 2, value: form?.text('note') ?? '', error: errors.of('note') })}
    <div class="buttons">
      <button name="choice" value="raise">Raise the limit</button>
      <button class="quiet" name="choice" value="waive" formnovalidate>${waiveLabel(of)}</button>
    </div>
    <p class="hint">${waiveLabel(of)}: ${hint}.</p>
  </form>`;
}
