/** Deciding from a list: one row, or all that are chosen. As on an approval's own page, it is about the version that is shown. */
import type { Approval, DecidedApprovals } from '@acp/contract';
import { findApproval } from '@acp/core';
import { invalid } from '@acp/kernel';
import { FieldErrors } from '../kit/field-errors.ts';
import { firstWords, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, plural, when } from '../kit/html.ts';
import { formError, postButton, textarea, toast } from '../kit/parts.ts';
import { say } from '../kit/language.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import type { Names } from './approval-view.ts';
import { outcome } from './decision-form.ts';

const CHOSEN_FORM = 'decide-chosen';

const versionOf = ({ updated_at }: Approval): string => new Date(updated_at).toISOString();

/** The box of a row. */
export const approvalBox = (approval: Approval): Html =>
  html`<label class="tick"
    ><input
      type="checkbox"
      name="approval"
      form="${CHOSEN_FORM}"
      value="${approval.id} ${versionOf(approval)}"
      aria-label="Select ${approval.title}"
      autocomplete="off"
      data-pick
  /></label>`;

/** The box for all rows, in the heading of their table. */
export const allBox = (): Html =>
  html`<label class="tick"
    ><input type="checkbox" aria-label="All that are shown" autocomplete="off" data-choose-all
  /></label>`;

/** The same for rows without a heading. */
export const namedAllBox = (): Html =>
  html`<label class="tick small"
    ><input type="checkbox" autocomplete="off" data-choose-all /> All
    <span class="sr-only">that are shown</span></label
  >`;

/** What it is about, in the length of a line or two. */
export const gist = ({ description }: Approval): Html =>
  when(firstWords(description ?? '', 160), (text) => html`<p class="why">${text}</p>`);

/** @param fields of the list, by which the page after the decision is the same list again */
export function rowDecision(
  approval: Approval,
  names: Names,
  fields: Readonly<Record<string, string>>,
): Html {
  const { id, title, type } = approval;
  const sent = { updated_at: versionOf(approval), ...fields };
  // What starts by itself is asked about again: its page would have said so.
  const acts = type === 'hire_agent' || type === 'install';
  const asked = acts ? { confirm: `${title}\n\n${outcome({ approval, names })}` } : {};
  return html`!${postButton(`/approvals/${id}/approve`, 'Approve', { class: 'small', fields: sent, named: title, ...asked })}
    <details class="rejects" data-fold="reject-${id}">
      <summary class="small">Reject<span class="sr-only">: ${title}</span></summary>
      <form class="row" method="post" action="/approvals/${id}/reject">
        !${each(Object.entries(sent), ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
        !${textarea({ name: 'note', id: `reason-${id}`, label: 'Reason', rows: 2, required: true })}
        <button class="danger small">Reject</button>
      </form>
    </details>`;
}

/** Below the rows. Without script it is always there; with script, once something is chosen. @param path that takes the decision */
export function chosenBar(path: string, error: string | null): Html {
  const errors = new FieldErrors(error, ['note']);
  return html`<form class="bulk" id="${CHOSEN_FORM}" method="post" action="${path}" data-bulk>
    !${formError(errors.general)}
    <p class="bulk-head">Decide the <span data-chosen>selected</span></p>
    <div class="row">
      !${textarea({ name: 'note', id: 'chosen-note', label: 'Note for the requesters', hint: 'A rejection needs a reason', rows: 1, error: errors.of('note') })}
      <button name="decision" value="approved">Approve</button>
      <button class="danger" name="decision" value="rejected">Reject</button>
    </div>
  </form>`;
}

/** The body of `approvals.decide`. */
export function readChosen(form: FormValues): object {
  const approvals = form.all('approval').map((choice) => {
    const [approval_id, updated_at] = choice.split(' ');
    return { approval_id, updated_at };
  });
  if (approvals.length === 0) throw invalid('choose an approval first');
  const decision = form.given('decision');
  if (decision === undefined) throw invalid('choose between approving and rejecting');
  assertReason(decision === 'rejected', form);
  return { decision, note: form.cleared('note'), approvals };
}

export function assertReason(rejects: boolean, form: FormValues): void {
  if (rejects && form.given('note') === undefined) throw invalid('note: give a reason for the rejection');
}

/** What became of the chosen ones. @param address of the list, without what was said */
export function decidedAll({ decided, left_out }: DecidedApprovals, form: FormValues, address: string): Html {
  const count = decided.length;
  const said =
    form.text('decision') === 'approved'
      ? plural(count, '# approval approved.', '# approvals approved.')
      : plural(count, '# approval rejected.', '# approvals rejected.');
  return html`!${toast(said, { address })}!${when(
    left_out.length > 0,
    () =>
      html`<div class="error form-error" role="alert">
        <p>Left as they are:</p>
        <ul>
          !${each(
            left_out,
            ({ approval_id, title, reason }) =>
              html`<li><a href="/approvals/${approval_id}">${title}</a>: ${say(reason)}</li>`,
          )}
        </ul>
      </div>`,
  )}`;
}

/** Confirms the decision about a single row. @param address of the list, without what was said */
export async function decidedOne(
  { tx, query, company_id }: Pick<UiContext, 'tx' | 'query' | 'company_id'>,
  address: string,
): Promise<Html> {
  const approval = query.decided ? await findApproval(tx, query.decided) : undefined;
  if (approval?.company_id !== company_id) return '';
  return toast(`${approval.title}: ${words(approval.status)}`, {
    undo: html`<a href="/approvals/${approval.id}">Open</a>`,
    address,
  });
}
