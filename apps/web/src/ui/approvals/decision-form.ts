/** The form that decides an approval, and what the decision will trigger. */
import type { Approval } from '@acp/contract';
import { budgetName, usagePart } from '../costs/budget-words.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { formError, textarea } from '../kit/parts.ts';
import { type ApprovalView, requester } from './approval-view.ts';

export const failedToApply = ({ status: value, applied_at, apply_error }: Approval): boolean =>
  value === 'approved' && applied_at === null && apply_error !== null;

export const isDecidable = (approval: Approval): boolean =>
  approval.status === 'pending' || failedToApply(approval);

/** What an approval will trigger, as far as that is known beforehand. */
export function outcome({ approval, names }: Pick<ApprovalView, 'approval' | 'names'>): string {
  const { payload, type } = approval;
  const who = requester(approval, names);
  const named = (value: unknown): string => (typeof value === 'string' && value !== '' ? ` “${value}”` : '');
  const said: Record<Approval['type'], string> = {
    hire_agent: t`Approving hires the agent${named(payload.name)}, with your rights. It may start working, and spending, immediately.`,
    install: t`Approving installs what is shown here (${words(typeof payload.kind === 'string' ? payload.kind : 'something')}), with your rights.`,
    plan: t`Nothing happens automatically: ${who} is notified and continues with the plan.`,
    action: t`Nothing happens automatically: ${who} is notified and may do it.`,
    budget_override: t`No limit changes automatically: ${who} is notified.`,
  };
  return said[type];
}

/** Where to raise the limit: the page of all budgets, and those that the request concerns. */
function budgetLinks({ approval, budgets, is_admin }: ApprovalView): Html {
  if (approval.type !== 'budget_override') return '';
  return html`<p>
      <a href="/companies/${approval.company_id}/budgets">Budgets</a> are raised on their own page.
    </p>
    !${when(
      budgets.length > 0,
      () =>
        html`<ul class="list">
          !${each(
            budgets,
            (usage) =>
              html`<li>
                !${is_admin ? html`<a href="/budget-policies/${usage.policy.id}">${budgetName(usage)}</a>` : html`${budgetName(usage)}`}
                <span class="small">!${usagePart(usage)}</span>
              </li>`,
          )}
        </ul>`,
    )}`;
}

export function decisionForm(view: ApprovalView): Html {
  const { approval, refused, q } = view;
  const again = failedToApply(approval);
  const base = `/approvals/${approval.id}`;
  const form = refused?.of === 'decision' ? refused.form : null;
  const errors = new FieldErrors(form && refused ? refused.error : null, ['note']);
  if (!isDecidable(approval)) return formError(errors.general);
  return html`<form class="card" method="post" action="${base}/approve">
    <h2>${again ? t`Try again` : t`Decide`}</h2>
    !${formError(errors.general)}
    <input type="hidden" name="updated_at" value="${new Date(approval.updated_at).toISOString()}" />
    !${when(q, (words_sought) => html`<input type="hidden" name="q" value="${words_sought}" />`)}
    <p>${outcome(view)}</p>
    !${budgetLinks(view)}
    !${textarea({ name: 'note', label: 'Note for the requester', hint: 'A rejection needs a reason', rows: 2, value: form?.text('note') ?? '', error: errors.of('note') })}
    <div class="buttons">
      <button>${again ? t`Retry` : t`Approve`}</button>
      !${when(
        !again,
        () =>
          html`<button class="danger" formaction="${base}/reject">Reject</button>
            <button class="quiet" formaction="${base}/request-revision">Ask for changes</button>`,
      )}
    </div>
    <p class="hint">
      Your decision is about the version of !${timeAgo(approval.updated_at)}; it is refused if that has
      changed.
    </p>
  </form>`;
}
