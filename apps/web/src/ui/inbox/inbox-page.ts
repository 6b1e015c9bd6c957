/** What awaits a user, each with who asked and what was said: usually enough to know what to do. */
import type { Approval, Inbox, Issue, JoinRequest } from '@acp/contract';
import { MOST_WAITING, type Reason } from '@acp/core';
import { type Names, requester } from '../approvals/approval-view.ts';
import { namedAllBox, approvalBox, chosenBar, rowDecision } from '../approvals/list-decisions.ts';
import type { IncidentLink } from '../costs/incidents.ts';
import { countUpTo, firstWords, money, timeAgo, timeTo } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { hasFailed } from '../issues/flags.ts';
import { emptyState, postButton, status } from '../kit/parts.ts';
import { laterMenu } from './later-menu.ts';

interface InboxView {
  company_id: string;
  inbox: Inbox;
  budgets: readonly IncidentLink[];
  names: Names;
  /** Names of those who ask to join. */
  joining: ReadonlyMap<string, string>;
  /** Reasons by issue id. */
  reasons: ReadonlyMap<string, Reason>;
  /** The reader decides on approvals. */
  can_write: boolean;
  /** Why a decision was refused. */
  error: string | null;
}

const wishes: Record<Approval['type'], string> = texts({
  hire_agent: 'wants to hire an agent',
  plan: 'asks you to agree to a plan',
  action: 'asks for permission to act',
  budget_override: 'asks for more budget',
  install: 'wants to install something',
});

/** Number of entries shown per section; the rest is folded. */
const SHOWN = 12;

export function inboxParts(view: InboxView): Html {
  const { company_id, inbox, budgets, names, can_write } = view;
  const line = (issue: Issue): Html => issueLine(issue, view.reasons.get(issue.id));
  const parts = [
    section(
      view.can_write ? t`Waiting for your decision` : t`Waiting for somebody’s decision`,
      inbox.approvals.map(
        (approval) =>
          html`<li>
            !${when(can_write, () => approvalBox(approval))}
            <div class="grow">
              <a href="/approvals/${approval.id}">${approval.title}</a>
              <p class="why">
                ${requester(approval, names)} ${wishes[approval.type]}.
                ${firstWords(approval.description ?? '', 160)}
              </p>
            </div>
            !${since(approval.created_at)}!${when(can_write, () => rowDecision(approval, names, { from: 'inbox' }))}
            !${laterMenu(`/approvals/${approval.id}/snooze`, { id: approval.id, named: approval.title })}
          </li>`,
      ),
      {
        act: when(can_write, namedAllBox),
        below: when(can_write, () => chosenBar(`/companies/${company_id}/inbox/decisions`, view.error)),
      },
    ),
    section(t`Asks for input`, inbox.awaiting_input.map(line)),
    section(t`Needs a person`, inbox.needs_attention.map(line)),
    section(
      t`Budgets`,
      budgets.map(
        ({ path, title, incident }) =>
          html`<li>
            <a class="grow" href="${path}">${title}</a>
            <span class="soft small">!${money(incident.spent_usd)} of !${money(incident.limit_usd)}</span>
            !${since(incident.opened_at)}
          </li>`,
      ),
    ),
    section(
      t`Requests to join`,
      inbox.join_requests.map((request) => joinLine(request, view.joining.get(request.user_id))),
    ),
    section(t`Unread`, inbox.unread_issues.map(line), {
      act: postButton(`/companies/${company_id}/inbox/read`, 'Mark all as read', { class: 'quiet small' }),
    }),
    section(t`Snoozed`, snoozedLines(inbox)),
  ].join('');
  return (
    parts ||
    emptyState(
      'Nothing is waiting for you',
      html`Agents’ questions and what others write on issues appear here. In the meantime, look at the
        <a href="/companies/${company_id}/board">board</a>.`,
    )
  );
}

/** @param parts.act in its head @param parts.below for what is chosen in it */
function section(
  title: string,
  lines: readonly Html[],
  { act = '', below = '' }: { act?: Html; below?: Html } = {},
): Html {
  const rest = lines.slice(SHOWN);
  return when(
    lines.length > 0,
    () =>
      html`<section class="card!${below && ' choosing'}">
        <div class="comment-head">
          <h2>${title} <span class="soft small">${countUpTo(MOST_WAITING - 1, lines.length)}</span></h2>
          <span class="grow"></span>!${act}
        </div>
        <ul class="list">
          !${lines.slice(0, SHOWN).join('')}
        </ul>
        !${when(
          rest.length > 0,
          () =>
            html`<details data-fold="${title}">
              <summary>${rest.length} more</summary>
              <ul class="list">
                !${rest.join('')}
              </ul>
            </details>`,
        )}!${below}
      </section>`,
  );
}

const since = (instant: Date | string): Html => html`<span class="soft small">!${timeAgo(instant)}</span>`;

const titleOf = ({ id, identifier, title }: Issue): Html =>
  html`<span class="identifier">${identifier}</span> <a href="/issues/${id}">${title}</a>`;

function joinLine({ id, message, created_at }: JoinRequest, who = t`a former user`): Html {
  const path = `/join-requests/${id}`;
  const fields = (decision: string) => ({ status: decision, from: 'inbox' });
  return html`<li>
    <div class="grow">
      ${who}!${when(message, (text) => html`<p class="why">${firstWords(text, 160)}</p>`)}
    </div>
    !${since(created_at)}!${postButton(path, 'Approve', { class: 'small', fields: fields('approved'), named: who })}
    !${postButton(path, 'Reject', { class: 'danger small', fields: fields('rejected'), named: who })}
  </li>`;
}

function issueLine(issue: Issue, reason: Reason | undefined): Html {
  return html`<li>
    <div class="grow">
      !${titleOf(issue)}!${when(whyOf(issue, reason), (why) => html`<p class="why">${why}</p>`)}
    </div>
    !${status(issue.status)}!${since(issue.updated_at)}!${laterMenu(`/issues/${issue.id}/snooze`, { id: issue.id, named: issue.identifier })}
    !${postButton(`/issues/${issue.id}/read`, 'Mark as read', { class: 'quiet small', named: issue.identifier })}
  </li>`;
}

/** Who wants what from the reader, as far as one line can say. */
function whyOf(issue: Issue, reason: Reason | undefined): string {
  if (reason === undefined) return '';
  const { assignee_name: worker, author, said, blocked_reason } = reason;
  if (hasFailed(issue) && !issue.awaiting_input)
    return t`The last run of ${worker ?? t`its agent`} failed; nothing goes on until somebody runs it again.`;
  if (issue.needs_human_attention)
    return t`${worker ?? t`Its agent`} went in circles: several runs in a row changed nothing.`;
  if (issue.status === 'blocked' && blocked_reason) return t`Blocked: ${firstWords(blocked_reason, 200)}`;
  if (said !== null) return `${author ?? t`Somebody`}: ${firstWords(said, 200)}`;
  return worker === null ? t`No one is working on it.` : t`${worker} works on it.`;
}

/** Issues and approvals together, soonest to return first. */
function snoozedLines({ snoozed_issues, snoozed_approvals }: Inbox): Html[] {
  const lines = [
    ...snoozed_issues.map((issue) => ({
      until: issue.snoozed_until,
      what: titleOf(issue),
      named: issue.identifier,
      back: `/issues/${issue.id}/unread`,
    })),
    ...snoozed_approvals.map(({ id, title, snoozed_until }) => ({
      until: snoozed_until,
      what: html`<a href="/approvals/${id}">${title}</a>`,
      named: title,
      back: `/approvals/${id}/unsnooze`,
    })),
  ];
  return lines
    .toSorted((a, b) => new Date(a.until).getTime() - new Date(b.until).getTime())
    .map(
      ({ until, what, named, back }) =>
        html`<li>
          <div class="grow">!${what}</div>
          <span class="soft small">!${timeTo(until)}</span>
          !${postButton(back, 'Bring back', { class: 'quiet small', named })}
        </li>`,
    );
}
