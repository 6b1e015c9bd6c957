/** Who works on an issue right now, in one line that stays in sight and leads to the run. */
import type { IssueDetail, Run } from '@acp/contract';
import { type AgentOutline, listRuns } from '@acp/core';
import { timeAgo } from '../kit/format.ts';
import { html, type Html, plural, t, when } from '../kit/html.ts';
import { postButton } from '../kit/parts.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import { isLive, nameOf } from './run-part.ts';

export interface WorkingView {
  issue: Pick<IssueDetail, 'id'>;
  /** The newest, live ones first. */
  runs: readonly Run[];
  agents: readonly AgentOutline[];
  can_write: boolean;
}

/** As many as may be waiting for each other. */
const LOOKED_AT = 10;

/** As a part of the page, which tells later how a run ended that was still to come or under way when it was opened. */
export function liveWorkingBar(view: WorkingView): Html {
  const { issue, runs } = view;
  const [newest] = runs;
  const known = newest !== undefined && !isLive(newest) ? newest.id : '';
  return html`<div
    data-live="issue:${issue.id}"
    data-source="/issues/${issue.id}/part/working?known=${known}"
  >
    !${workingBar(view, known)}
  </div>`;
}

export async function loadWorking({ tx, user, subject, company_id }: UiContext<'issue'>): Promise<Run[]> {
  const { items } = await listRuns(tx, user, company_id, { issueId: subject.id, limit: LOOKED_AT });
  return [...items.filter(isLive), ...items.filter((run) => !isLive(run))];
}

/** @param known the run that had ended before the page was opened */
export function workingBar({ runs, agents, can_write }: WorkingView, known: string): Html {
  const first = runs.find(({ status }) => status === 'running') ?? runs[0];
  if (first === undefined || first.id === known || first.status === 'cancelled') return '';
  const name = nameOf(first, agents);
  const toRun = html`<a href="#run-${first.id}">View</a>`;
  if (first.status === 'failed')
    return html`<div class="working" data-state="bad">
      <span data-told>The run of ${name} failed.</span> !${toRun}
    </div>`;
  if (first.status === 'succeeded')
    return html`<div class="working">
      <span data-told>${name} has finished.</span> <a href="#newest">Read what came of it</a>
    </div>`;
  const others = runs.filter(isLive).length - 1;
  return html`<div class="working" data-state="live">
    <span data-told>${first.status === 'queued' ? t`${name} is about to start` : t`${name} is working`}</span>
    <span class="soft">· !${timeAgo(first.started_at ?? first.created_at)}</span>
    !${toRun}
    !${when(can_write, () => postButton(`/runs/${first.id}/cancel`, 'Cancel', { class: 'link small', fields: { back: 'issue' } }))}
    !${when(others > 0, () => html`<span class="soft">${plural(others, 'and # other', 'and # others')}</span>`)}
  </div>`;
}
