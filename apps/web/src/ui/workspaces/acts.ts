/** What leaves the instance by a person's decision: the branch, a pull request, its merge. */
import type { Workspace, WorkspaceAction, WorkProduct } from '@acp/contract';
import { timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { say } from '../kit/language.ts';
import { checkbox, input, postButton, select, status, textarea } from '../kit/parts.ts';

export interface ActsView {
  /** Only the newest. */
  actions: readonly WorkspaceAction[];
  /** Pull requests of the branch, newest first. */
  pull_requests: readonly WorkProduct[];
  can_write: boolean;
}

export function actsPart(workspace: Workspace, { actions, pull_requests, can_write }: ActsView): Html {
  const { kind, head_commit, base_commit } = workspace;
  const hasCommits = kind === 'repository' && head_commit !== null && head_commit !== base_commit;
  const busy = actions.some(({ status: state }) => state === 'queued' || state === 'running');
  const open = pull_requests.find(({ status: state }) => state === 'active' || state === 'draft');
  return html`!${each(pull_requests, pullRequest)}!${each(actions, actLine)}
  !${when(can_write && hasCommits && !busy, () => actForms(workspace.issue_id, open !== undefined))}`;
}

function pullRequest({ title, url, status: state, review_state, health_status }: WorkProduct): Html {
  const name = url === null ? html`${title}` : html`<a href="${url}" rel="noopener">${title}</a>`;
  return html`<p class="labels">
    <strong>Pull request</strong> !${name} !${status(state)}
    !${when(review_state !== 'none', () => html`<span class="small">review</span> !${status(review_state)}`)}
    !${when(health_status, (health) => html`<span class="small">checks</span> !${status(health)}`)}
  </p>`;
}

function actLine({ kind, status: state, error, created_at }: WorkspaceAction): Html {
  return html`<p class="small">${words(kind)} !${status(state)} !${timeAgo(created_at)}</p>
    !${when(error, (text) => html`<p class="error">${say(text)}</p>`)}`;
}

function actForms(issue_id: string, open: boolean): Html {
  const here = `/issues/${issue_id}/changes`;
  const methods = ['merge', 'squash', 'rebase'].map((value) => ({ value, label: value }));
  return html`<div class="buttons">
      !${postButton(`${here}/push`, 'Push the branch', { class: 'quiet' })}
      !${when(
        open,
        () =>
          html`<form
            class="inline"
            method="post"
            action="${here}/merge"
            data-confirm="Merge the pull request?"
          >
            !${select({ name: 'method', label: 'How', value: 'merge', choices: methods })}
            <button class="quiet">Merge</button>
          </form>`,
      )}
    </div>
    !${when(
      !open,
      () =>
        html`<details class="edit">
          <summary>Open a pull request</summary>
          <form method="post" action="${here}/pull-request">
            !${input({ name: 'title', id: 'pull-title', label: 'Title', hint: 'Empty: the issue’s identifier and title' })}
            !${textarea({ name: 'body_markdown', id: 'pull-body', label: 'Description', rows: 4 })}
            !${checkbox({ name: 'draft', label: 'As a draft', checked: false })}
            <button>Open</button>
          </form>
        </details>`,
    )}`;
}
