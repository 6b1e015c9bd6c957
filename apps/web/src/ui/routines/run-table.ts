/** What became of a routine's fires. */
import type { RoutineRun } from '@acp/contract';
import type { IssueOfRun } from '@acp/core';
import { cutText, readableJson } from '@acp/kernel';
import { exactTime } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { emptyState, status } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';

export interface RoutineRunsView {
  runs: readonly RoutineRun[];
  /** Issues by id; those in the trash are missing. */
  issues: ReadonlyMap<string, IssueOfRun>;
  /** Labels of the triggers, by id. */
  triggers: ReadonlyMap<string, string | null>;
  next_cursor: string | null;
}

/** Bytes of a payload shown; the API has all of it. */
const SHOWN_BYTES = 2000;

const sourceWords: Readonly<Record<RoutineRun['source'], string>> = texts({
  manual: 'by hand',
  agent: 'an agent',
  schedule: 'schedule',
  webhook: 'webhook',
});

/** The part that refreshes itself: the link moves on with the fires. @param here the routine's page */
export function routineRunsPart(
  here: string,
  { runs, issues, triggers, next_cursor }: RoutineRunsView,
): Html {
  if (runs.length === 0)
    return emptyState('Not fired yet', html`Every fire is listed here, with the resulting issue.`);
  const columns: Column<RoutineRun>[] = [
    { label: 'Issue', cell: (run) => issueLink(run, issues) },
    {
      label: 'Outcome',
      cell: (run) =>
        html`!${status(run.status)}!${when(run.error, (text) => html`<p class="error">${text}</p>`)}`,
    },
    {
      label: 'Newest run',
      cell: ({ issue_id }) =>
        when(
          issue_id && issues.get(issue_id)?.run,
          (run) => html`<a href="/runs/${run.id}">!${status(run.status)}</a>`,
        ),
    },
    {
      label: 'Fired by',
      cell: ({ source, trigger_id, payload }) => {
        const label = trigger_id === null ? null : triggers.get(trigger_id);
        return html`${sourceWords[source]}!${when(label, (text) => html` <span class="soft">${text}</span>`)}!${payloadFold(payload)}`;
      },
    },
    { label: 'When', cell: ({ created_at }) => exactTime(created_at) },
  ];
  return html`!${table('Fires', columns, runs)}!${moreLink(here, next_cursor, 'Older fires')}`;
}

function issueLink({ issue_id, status: outcome }: RoutineRun, issues: RoutineRunsView['issues']): Html {
  const issue = issue_id === null ? undefined : issues.get(issue_id);
  if (issue) {
    return html`<a href="/issues/${issue.id}"
      ><span class="identifier">${issue.identifier}</span> ${issue.title}</a
    >`;
  }
  // An issue in the trash reads as null too.
  const hadIssue = outcome === 'enqueued' || outcome === 'coalesced';
  return html`<span class="soft">${hadIssue ? t`deleted` : t`none`}</span>`;
}

function payloadFold(payload: unknown): Html {
  if (payload === null || payload === undefined) return '';
  const text = typeof payload === 'string' ? payload : readableJson(payload);
  return html`<details>
    <summary>Payload</summary>
    <pre class="wrapped">${cutText(text, SHOWN_BYTES)}</pre>
  </details>`;
}
