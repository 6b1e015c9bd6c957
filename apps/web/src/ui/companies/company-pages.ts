import { type AgentOutline, type IssueName, MOST_WAITING } from '@acp/core';
import { activityLine } from '../activity/activity-line.ts';
import type { ActivityEntry, DayFigures, Inbox, Run } from '@acp/contract';
import type { IncidentLink } from '../costs/incidents.ts';
import { chartsPart } from './charts.ts';
import { firstSteps, type FirstSteps, hasForm } from './first-steps.ts';
import type { Names } from '../kit/answered-by.ts';
import { countUpTo, money, timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { issueLink } from '../runs/runs-pages.ts';
import { emptyState, status } from '../kit/parts.ts';

export interface DashboardView {
  company_id: string;
  /** Null once the first issue is done. */
  steps: FirstSteps | null;
  agents: readonly AgentOutline[];
  /** What runs, then what waits for its turn; at most MOST_WAITING of each. */
  live: readonly Run[];
  live_agents: readonly AgentOutline[];
  live_issues: ReadonlyMap<string, IssueName>;
  inbox: Pick<Inbox, 'approvals' | 'awaiting_input' | 'needs_attention' | 'join_requests'>;
  /** The inbox's budget incidents. */
  budgets: readonly IncidentLink[];
  /** Of those who ask to join. */
  names: Names;
  spend: { today_usd: number; month_usd: number };
  activity: readonly ActivityEntry[];
  is_admin: boolean;
  can_write: boolean;
  days: readonly DayFigures[];
}

export function dashboardBody(view: DashboardView): Html {
  const { company_id, steps } = view;
  return html`!${when(steps && hasForm(steps) && steps, firstSteps)}
    <div
      data-live="runs agents issues approvals budget_incident join_request inbox_changed"
      data-source="/companies/${company_id}"
    >
      !${dashboardParts(view)}
    </div>`;
}

/** Listed individually, or as a number if there are many. */
function failures(
  company_id: string,
  agents: readonly AgentOutline[],
): { path: string; what: string; title: string }[] {
  if (agents.length <= 3)
    return agents.map(({ id, name }) => ({ path: `/agents/${id}`, what: words('failed'), title: name }));
  const path = `/companies/${company_id}/agents?state=error&sort=last_run`;
  return [{ path, what: words('failed'), title: t`${agents.length} agents` }];
}

/** This many entries of a list fit without scrolling. */
const MOST_LISTED = 8;

/** The number of entries that are not listed. */
const others = ({ length }: readonly unknown[]): string =>
  countUpTo(MOST_WAITING - 1 - MOST_LISTED, length - MOST_LISTED);

/** Each with its issue. */
function runningNow({ company_id, live, live_agents, live_issues }: DashboardView): Html {
  if (live.length === 0) return html`<p class="soft">No agent is running.</p>`;
  const names = new Map(live_agents.map(({ id, name }) => [id, name]));
  const line = (run: Run): Html =>
    html`<li class="whole">
      !${status(run.status)}
      <span class="grow"
        ><a href="/runs/${run.id}">${names.get(run.agent_id) ?? t`an agent`}</a>
        !${when(run.issue_id && live_issues.get(run.issue_id), issueLink)}</span
      >
      <span class="soft small">!${timeAgo(run.created_at)}</span>
    </li>`;
  return html`<ul class="list">
      !${each(live.slice(0, MOST_LISTED), line)}
    </ul>
    !${when(
      live.length > MOST_LISTED,
      () =>
        html`<p class="more">
          <a href="/companies/${company_id}/runs">All runs</a>
          <span class="soft small">and ${others(live)} more</span>
        </p>`,
    )}`;
}

/** What waits for a person. */
function waitingItems({
  company_id,
  agents,
  inbox,
  budgets,
  names,
}: DashboardView): { path: string; what: string; title: string }[] {
  const failing = agents.filter(({ status: state }) => state === 'error');
  return [
    ...failures(company_id, failing),
    ...inbox.awaiting_input.map((issue) => ({
      path: `/issues/${issue.id}`,
      what: t`asks for input`,
      title: issue.title,
    })),
    ...inbox.needs_attention.map((issue) => ({
      path: `/issues/${issue.id}`,
      what: t`needs a person`,
      title: issue.title,
    })),
    ...inbox.approvals.map((approval) => ({
      path: `/approvals/${approval.id}`,
      what: t`asks for approval`,
      title: approval.title,
    })),
    ...budgets.map(({ path, title }) => ({ path, what: words('budget'), title })),
    ...inbox.join_requests.map(({ user_id }) => ({
      path: `/companies/${company_id}/members/requests`,
      what: t`asks to join`,
      title: names.get(user_id) ?? t`a former user`,
    })),
  ];
}

export function dashboardParts(view: DashboardView): Html {
  const { company_id, steps, spend, activity, is_admin, can_write, days } = view;
  const waiting = waitingItems(view);
  return html`!${when(steps && !hasForm(steps) && steps, firstSteps)}
    <div class="tiles lists">
      <section class="card">
        <h2>Running now</h2>
        !${runningNow(view)}
      </section>
      <section class="card">
        <h2>Waiting for a person</h2>
        !${
          waiting.length === 0
            ? html`<p class="soft">Nothing.</p>`
            : html`<ul class="list">
                  !${each(waiting.slice(0, MOST_LISTED), (item) => html`<li class="whole"><a class="grow" href="${item.path}">${item.title}</a><span class="soft small">${item.what}</span></li>`)}
                </ul>
                <p class="more">
                  <a href="/companies/${company_id}/inbox">Open the inbox</a
                  >!${when(waiting.length > MOST_LISTED, () => html` <span class="soft small">and ${others(waiting)} more</span>`)}
                </p>`
        }
      </section>
      <section class="card">
        <h2>Spend</h2>
        <dl class="figures">
          <div>
            <dt>Today</dt>
            <dd>!${money(spend.today_usd)}</dd>
          </div>
          <div>
            <dt>This month</dt>
            <dd>!${money(spend.month_usd)}</dd>
          </div>
        </dl>
        <p class="more"><a href="/companies/${company_id}/costs">By day, agent and model</a></p>
      </section>
    </div>
    !${chartsPart(days)}
    <section class="card">
      <h2>Recent activity</h2>
      !${
        activity.length === 0
          ? emptyState(
              'No activity yet',
              can_write
                ? html`<a href="/companies/${company_id}/agents/new">Hire an agent</a>, then
                    <a href="/companies/${company_id}/issues/new">write an issue</a>.`
                : html`What people and agents do here is listed as it happens.`,
            )
          : html`<ol class="timeline flat">
                !${each(activity, (entry) => activityLine(entry, is_admin))}
              </ol>
              <p class="more"><a href="/companies/${company_id}/activity">All activity</a></p>`
      }
    </section>`;
}
