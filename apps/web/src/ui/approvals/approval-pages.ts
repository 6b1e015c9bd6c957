import { type Approval, type ApprovalComment, approvalStatuses, approvalTypes } from '@acp/contract';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, timeTo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { say, t, texts } from '../kit/language.ts';
import { nothingListed, searched, searchedList } from '../kit/list-search.ts';
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
import { type ApprovalView, decider, type Names, requester } from './approval-view.ts';
import { allBox, approvalBox, chosenBar, gist, rowDecision } from './list-decisions.ts';
import { decisionForm, failedToApply, isDecidable } from './decision-form.ts';
import { payloadPart } from './payload.ts';

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
  /** The reader decides. */
  can_write: boolean;
  error: string | null;
  /** What has just been decided. */
  said: Html;
}

const typeNames: Record<Approval['type'], string> = texts({
  hire_agent: 'hires an agent',
  plan: 'plan',
  action: 'action',
  budget_override: 'budget override',
  install: 'install',
});

/** The filter is in the address, so that a list can be bookmarked and shared. */
export const listPath = (company_id: string, of = 'pending', below = ''): string =>
  `/companies/${company_id}/approvals${below}${of === 'pending' ? '' : `?status=${of}`}`;

export function approvalsBody(view: ListView): Html {
  const { company_id } = view;
  const filters = [...approvalStatuses, 'all'].map((value) => ({
    label: words(value),
    path: searched(listPath(company_id, value), view.query),
  }));
  const here = listPath(company_id, view.status || 'all');
  const list = html`<div
    data-live="approvals inbox_changed"
    data-chooses
    data-source="${samePage(searched(here, view.query), view.query)}"
  >
    !${approvalList(view)}
  </div>`;
  const { approvals: items, next_cursor } = view;
  return html`!${view.said}!${tabs('By status', filters, searched(here, view.query))}!${searchedList(here, view.query, { items, next_cursor }, list)}`;
}

export function approvalList(view: ListView): Html {
  const { company_id, status: of, approvals, next_cursor, query } = view;
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
  const decides = view.can_write && approvals.some(({ status: value }) => value === 'pending');
  const more = moreLink(searched(here, query), next_cursor, 'Older approvals');
  return html`<div class="card choosing">
    <div class="rows">!${table('Approvals', columnsOf(view, decides), approvals)}</div>
    !${more}!${when(decides, () => chosenBar(searched(listPath(company_id, of || 'all', '/decisions'), query), view.error))}
  </div>`;
}

function columnsOf({ names, snoozed, query }: ListView, decides: boolean): Column<Approval>[] {
  const whilePending =
    (cell: (approval: Approval) => Html) =>
    (approval: Approval): Html =>
      approval.status === 'pending' ? cell(approval) : '';
  const { q = '', cursor = '', status: of = '' } = query;
  const list = { from: 'list', q, cursor, status: of };
  const columns: Column<Approval>[] = [
    {
      label: 'What',
      phone: 'text',
      cell: (approval) =>
        html`<a href="${searched(`/approvals/${approval.id}`, query)}">${approval.title}</a>
          !${whilePending(gist)(approval)}`,
    },
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
  if (!decides) return columns;
  return [
    { label: 'Select', kind: 'acts', head: allBox, cell: whilePending(approvalBox) },
    ...columns,
    {
      label: 'Decide',
      kind: 'acts',
      cell: whilePending((approval) => rowDecision(approval, names, list)),
    },
  ];
}

/** Approved does not yet mean done if there is something to carry out. */
function state({ status: value, applied_at, apply_error }: Approval): Html {
  if (value !== 'approved' || applied_at !== null) return status(value);
  return html`!${status(value)} !${apply_error === null ? status('under way') : status('failed')}`;
}

export function approvalBody(view: ApprovalView): Html {
  const { approval, q } = view;
  const here = `/approvals/${approval.id}`;
  // On a phone, and for a screen reader, the decision comes before the discussion.
  return html`<div class="columns decision">
    <div data-live="approval:${approval.id}" data-source="${here}/part/request">!${requestPart(view)}</div>
    <aside data-live="approval:${approval.id}" data-source="${searched(`${here}/part/state`, { q })}">
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
  const { decided_at, decision_note, apply_error } = approval;
  return html`<div class="card">
      <p>!${state(approval)}</p>
      !${nextLink(view)}
      !${when(apply_error, (text) => html`<p class="error">It could not be carried out: ${say(text)}</p>`)}
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
              <dd>!${timeAgo(at)} by ${decider(approval, names)}</dd>`,
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
    !${when(view.can_write, () => decisionForm(view))}!${when(view.may_resubmit, () => resubmitForm(view))}`;
}

/** For whoever decides one after the other. */
const nextLink = ({ approval, next, q }: ApprovalView): Html =>
  when(
    approval.status !== 'pending' && next,
    ({ id, title }) => html`<p>Next: <a href="${searched(`/approvals/${id}`, { q })}">${title}</a></p>`,
  );

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
