import { type Approval, type ApprovalComment, approvalStatuses, approvalTypes } from '@acp/contract';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, timeTo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { listSearch, nothingListed, searched } from '../kit/list-search.ts';
import { markdown } from '../kit/markdown.ts';
import {
  avatar,
  emptyState,
  formError,
  input,
  postButton,
  select,
  status,
  tabs,
  textarea,
} from '../kit/parts.ts';
import { type Column, moreLink, samePage, table } from '../kit/table.ts';
import { laterMenu } from '../inbox/later-menu.ts';
import { payloadPart } from './payload.ts';

/** Names of the agents and users mentioned in approvals, by id. */
export type Names = ReadonlyMap<string, string>;

export interface ListView {
  company_id: string;
  /** '' means all. */
  status: string;
  /** The page's own query. */
  query: Readonly<Record<string, string>>;
  approvals: readonly Approval[];
  next_cursor: string | null;
  names: Names;
  /** Until when the reader has put off some of them, by id. */
  snoozed: ReadonlyMap<string, Date>;
}

const typeNames: Record<Approval['type'], string> = texts({
  hire_agent: 'hires an agent',
  plan: 'plan',
  action: 'action',
  budget_override: 'budget override',
  install: 'install',
});

/** The filter is in the address, so that a list can be bookmarked and shared. */
export const listPath = (company_id: string, of = 'pending'): string =>
  `/companies/${company_id}/approvals${of === 'pending' ? '' : `?status=${of}`}`;

export function approvalsBody(view: ListView): Html {
  const { company_id } = view;
  const filters = [...approvalStatuses, 'all'].map((value) => ({
    label: words(value),
    path: searched(listPath(company_id, value), view.query),
  }));
  const here = listPath(company_id, view.status || 'all');
  return html`!${tabs('By status', filters, searched(here, view.query))}
    !${listSearch(here, view.query, { items: view.approvals, next_cursor: view.next_cursor })}
    <div
      data-live="approvals inbox_changed"
      data-source="${samePage(searched(here, view.query), view.query)}"
    >
      !${approvalList(view)}
    </div>`;
}

export function approvalList({
  company_id,
  status: of,
  approvals,
  next_cursor,
  names,
  snoozed,
  query,
}: ListView): Html {
  const here = listPath(company_id, of || 'all');
  if (approvals.length === 0)
    return nothingListed(here, query, () =>
      of === 'pending'
        ? emptyState(
            'Nothing is waiting for a decision',
            html`Agents ask here before they hire, install or exceed their budget.`,
          )
        : emptyState('None', html`<a href="${listPath(company_id, 'all')}">Show all approvals</a>.`),
    );
  const columns: Column<Approval>[] = [
    { label: 'What', cell: ({ id, title }: Approval) => html`<a href="/approvals/${id}">${title}</a>` },
    { label: 'Kind', phone: 'plain', cell: ({ type }: Approval) => html`${typeNames[type]}` },
    { label: 'Asked by', phone: 'plain', cell: (approval: Approval) => html`${requester(approval, names)}` },
    { label: 'When', phone: 'plain', cell: ({ created_at }: Approval) => timeAgo(created_at) },
    {
      label: 'Status',
      phone: 'plain',
      cell: (approval: Approval) =>
        html`!${state(approval)}!${when(snoozed.get(approval.id), (until) => html` <span class="soft small">snoozed, !${timeTo(until)}</span>`)}`,
    },
  ];
  const more = moreLink(searched(here, query), next_cursor, 'Older approvals');
  return html`<div class="card">!${table('Approvals', columns, approvals)}!${more}</div>`;
}

export function requester(approval: Approval, names: Names): string {
  const id = approval.requested_by_agent_id ?? approval.requested_by_user_id;
  return (id && names.get(id)) ?? t`an integration`;
}

/** Approved does not yet mean done if there is something to carry out. */
function state({ status: value, applied_at, apply_error }: Approval): Html {
  if (value !== 'approved' || applied_at !== null) return status(value);
  return html`!${status(value)} !${apply_error === null ? status('under way') : status('failed')}`;
}

export interface ApprovalView {
  approval: Approval;
  issue: { id: string; title: string } | null;
  comments: readonly ApprovalComment[];
  names: Names;
  can_write: boolean;
  /** Until when the reader has put it off. */
  snoozed_until: Date | null;
  /** The requester may resubmit if a revision is requested. */
  is_requester: boolean;
  refused: { of: 'decision' | 'comment' | 'resubmit'; error: string; form: FormValues } | null;
}

export function approvalBody(view: ApprovalView): Html {
  const { approval } = view;
  // On a phone, and for a screen reader, the decision comes before the discussion.
  return html`<div class="columns decision">
    <div data-live="approval:${approval.id}" data-source="/approvals/${approval.id}/part/request">
      !${requestPart(view)}
    </div>
    <aside data-live="approval:${approval.id}" data-source="/approvals/${approval.id}/part/state">
      !${statePart(view)}
    </aside>
    <section aria-label="Comments">
      !${commentList(view)}!${when(view.can_write, () => commentForm(view))}
    </section>
  </div>`;
}

/** Refreshed together with the decision form: no one decides on a different text than the one in sight. */
export function requestPart({ approval }: Pick<ApprovalView, 'approval'>): Html {
  return html`<section class="card">
    <h2>What is asked for</h2>
    !${markdown(approval.description) || html`<p class="soft">No description.</p>`}
    !${payloadPart(approval.payload)}
  </section>`;
}

export function statePart(view: ApprovalView): Html {
  const { approval, issue, names } = view;
  const { decided_at, decided_by_user_id, decision_note, apply_error } = approval;
  return html`<div class="card">
      <p>!${state(approval)}</p>
      !${when(apply_error, (text) => html`<p class="error">It could not be carried out: ${text}</p>`)}
      <dl class="facts">
        <dt>Kind</dt>
        <dd>${typeNames[approval.type]}</dd>
        <dt>Asked by</dt>
        <dd>${requester(approval, names)}</dd>
        <dt>When</dt>
        <dd>!${timeAgo(approval.created_at)}</dd>
        !${when(
          issue,
          ({ id, title }) =>
            html`<dt>Issue</dt>
              <dd><a href="/issues/${id}">${title}</a></dd>`,
        )}
        !${when(
          decided_at,
          (at) =>
            html`<dt>Decided</dt>
              <dd>
                !${timeAgo(at)} by
                ${(decided_by_user_id && names.get(decided_by_user_id)) ?? t`an integration`}
              </dd>`,
        )}
        !${when(
          decision_note,
          (note) =>
            html`<dt>Note</dt>
              <dd class="prose">${note}</dd>`,
        )}
        !${when(
          approval.applied_at,
          (at) =>
            html`<dt>Done</dt>
              <dd>!${timeAgo(at)}</dd>`,
        )}
      </dl>
      !${laterPart(view)}
    </div>
    !${when(view.can_write, () => decisionForm(view))}!${when(view.is_requester, () => resubmitForm(view))}`;
}

/** Only what waits can be put off, by anyone: for the others it keeps waiting. */
function laterPart({ approval, snoozed_until }: ApprovalView): Html {
  if (approval.status !== 'pending') return '';
  const { id, title: named } = approval;
  if (snoozed_until === null) return laterMenu(`/approvals/${id}/snooze`, { id, named });
  return html`<div class="row">
    <span class="grow">Snoozed: back in your inbox !${timeTo(snoozed_until)}.</span>
    !${postButton(`/approvals/${id}/unsnooze`, 'Bring back', { class: 'quiet small' })}
  </div>`;
}

const failedToApply = ({ status: value, applied_at, apply_error }: Approval): boolean =>
  value === 'approved' && applied_at === null && apply_error !== null;

const isDecidable = (approval: Approval): boolean => approval.status === 'pending' || failedToApply(approval);

/** What an approval will trigger, as far as that is known beforehand. */
function outcome(approval: Approval, names: Names): Html {
  const { payload, updated_at } = approval;
  const who = requester(approval, names);
  const named = (value: unknown): string => (typeof value === 'string' && value !== '' ? ` “${value}”` : '');
  const said: Record<Approval['type'], string> = {
    hire_agent: t`Approving hires the agent${named(payload.name)}, with your rights. It may start working, and spending, immediately.`,
    install: t`Approving installs what is shown here (${words(typeof payload.kind === 'string' ? payload.kind : 'something')}), with your rights.`,
    plan: t`Nothing happens automatically: ${who} is notified and continues with the plan.`,
    action: t`Nothing happens automatically: ${who} is notified and may do it.`,
    budget_override: t`No limit changes automatically: ${who} is notified. Budgets are raised on their own page.`,
  };
  return html`${said[approval.type]}
    <span class="soft"
      >Your decision is about the version of !${timeAgo(updated_at)}; it is refused if that has changed.</span
    >`;
}

function decisionForm({ approval, refused, names }: ApprovalView): Html {
  const again = failedToApply(approval);
  const base = `/approvals/${approval.id}`;
  const form = refused?.of === 'decision' ? refused.form : null;
  const errors = new FieldErrors(form && refused ? refused.error : null, ['note']);
  if (!isDecidable(approval)) return formError(errors.general);
  return html`<form class="card" method="post" action="${base}/approve">
    <h2>${again ? t`Try again` : t`Decide`}</h2>
    !${formError(errors.general)}
    <input type="hidden" name="updated_at" value="${new Date(approval.updated_at).toISOString()}" />
    <p>!${outcome(approval, names)}</p>
    !${textarea({ name: 'note', label: 'Note for the requester', hint: 'A rejection needs a reason', rows: 3, value: form?.text('note') ?? '', error: errors.of('note') })}
    <div class="buttons">
      <button>${again ? t`Retry` : t`Approve`}</button>
      !${when(
        !again,
        () =>
          html`<button class="danger" formaction="${base}/reject">Reject</button>
            <button class="quiet" formaction="${base}/request-revision">Ask for changes</button>`,
      )}
    </div>
  </form>`;
}

function resubmitForm({ approval, refused }: ApprovalView): Html {
  if (approval.status !== 'revision_requested' && !failedToApply(approval)) return '';
  const form = refused?.of === 'resubmit' ? refused.form : null;
  return html`<form class="card" method="post" action="/approvals/${approval.id}/resubmit">
    <h2>Ask again</h2>
    !${requestFields(form, form && refused ? refused.error : null, approval)}
    <button>Ask again</button>
  </form>`;
}

/** Title, description and payload, for a new approval and for a resubmission. */
function requestFields(form: FormValues | null, error: string | null, approval: Approval | null): Html {
  const errors = new FieldErrors(error, ['title', 'description', 'payload']);
  const payload = form?.text('payload') ?? JSON.stringify(approval?.payload ?? {}, null, 2);
  return html`!${formError(errors.general)}
  !${input({ name: 'title', label: 'Title', required: true, value: form?.text('title') ?? approval?.title, error: errors.of('title') })}
  !${textarea({ name: 'description', label: 'Description (Markdown)', value: form?.text('description') ?? approval?.description, error: errors.of('description') })}
  !${textarea({ name: 'payload', label: 'Payload (JSON)', rows: 4, mono: true, value: payload, error: errors.of('payload'), hint: 'For a hire the agent’s fields, for an install {kind, body}' })}`;
}

export function newApprovalBody(company_id: string, error: string | null, form: FormValues | null): Html {
  return html`<form class="card" method="post" action="/companies/${company_id}/approvals/new">
    !${select({ name: 'type', label: 'Kind', value: form?.text('type') || 'plan', choices: approvalTypes.map((type) => ({ value: type, label: typeNames[type] })) })}
    !${requestFields(form, error, null)}
    <button>Ask</button>
  </form>`;
}

function commentList({ approval, comments, names }: ApprovalView): Html {
  if (comments.length === 0) return '';
  return html`<ol class="timeline">
    !${each(comments, (comment) => commentEntry(comment, approval.id, names))}
  </ol>`;
}

function commentEntry(comment: ApprovalComment, approval_id: string, names: Names): Html {
  const agent = comment.author_agent_id && names.get(comment.author_agent_id);
  const name = agent ?? comment.author_user_name ?? t`somebody`;
  return html`<li class="comment">
    !${avatar(name)}
    <div class="comment-body">
      <div class="comment-head">
        <strong>${name}</strong> <span class="soft small">!${timeAgo(comment.created_at)}</span>
      </div>
      !${markdown(comment.body_markdown, `/approvals/${approval_id}/comments/${comment.id}`)}
    </div>
  </li>`;
}

function commentForm({ approval, refused }: ApprovalView): Html {
  const form = refused?.of === 'comment' ? refused.form : null;
  const errors = new FieldErrors(form && refused ? refused.error : null, ['body_markdown']);
  // Somebody else has decided meanwhile: the note that came too late can still be said.
  const late = refused?.of === 'decision' && !isDecidable(approval) ? refused.form.text('note') : '';
  const hint = late === '' ? '' : t`Your note came after the decision. It can still be sent as a comment.`;
  return html`<form class="card" method="post" action="/approvals/${approval.id}/comments" data-draft>
    !${formError(errors.general)}
    !${textarea({ name: 'body_markdown', label: 'Comment (Markdown)', rows: 3, required: true, hint, value: form?.text('body_markdown') ?? late, error: errors.of('body_markdown') })}
    <button>Comment</button>
  </form>`;
}
