/** What was said and done about an issue, and the form for a comment. */
import type { IssueDetail } from '@acp/contract';
import { type FileLimits, limitsOfEach, sizeOfFile } from '../kit/file-limits.ts';
import { html, type Html, t, when } from '../kit/html.ts';
import { textarea } from '../kit/parts.ts';
import { liveWorkingBar, type WorkingView } from './working-bar.ts';
import { liveTimeline, type TimelineView } from './timeline.ts';

export interface ConversationView extends WorkingView {
  issue: IssueDetail;
  timeline: TimelineView;
  /** A rejected comment, so that nothing typed is lost. */
  draft: string;
  file_limits: FileLimits;
  can_write: boolean;
}

export function conversation(view: ConversationView): Html {
  return html`<section aria-label="Activity" class="activities">
      <h2>Activity</h2>
      !${liveTimeline(view.timeline)}
      <span id="newest"></span>
    </section>
    <div class="dock">!${liveWorkingBar(view)}!${when(view.can_write, () => commentForm(view))}</div>`;
}

/** Always in sight. Completes names and issues, takes files, and submits on Ctrl-Enter. */
function commentForm({ issue, draft, file_limits }: ConversationView): Html {
  return html`<form
    class="card comment-form"
    method="post"
    action="/issues/${issue.id}/comments"
    data-composer
    data-draft
    data-files="/api/issues/${issue.id}/attachments"
    !${limitsOfEach(file_limits)}
    data-preview="/companies/${issue.company_id}/preview"
  >
    <text-expander keys="@ #">
      !${textarea({
        name: 'body_markdown',
        id: 'comment',
        label: 'Your comment',
        placeholder: t`Write a comment`,
        value: draft,
        rows: 2,
        required: true,
        hint: t`Markdown. @Name wakes an agent; the assignee is woken anyway. # finds an issue, files of up to ${sizeOfFile(file_limits)} can be attached, pasted and dropped.`,
      })}
    </text-expander>
    <div class="preview" data-preview-place hidden></div>
    !${when(issue.status === 'blocked', () => html`<label class="check"><input type="checkbox" name="resume_after" value="on" /> <span>and resume the work</span></label>`)}
    <button>Comment</button>
    <span class="attach" data-script-only
      ><label class="button quiet" for="f-attach">Attach files</label
      ><input id="f-attach" class="sr-only" type="file" multiple data-attach
    /></span>
    <button type="button" class="quiet" data-show-preview data-script-only aria-pressed="false">
      Preview
    </button>
    <a class="small to-newest" href="#newest">Newest activity</a>
  </form>`;
}
