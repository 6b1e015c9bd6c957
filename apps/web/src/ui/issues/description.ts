/** What an issue is about, and the form that changes it. */
import type { Issue } from '@acp/contract';
import { asShown } from '../kit/as-shown.ts';
import { html, type Html } from '../kit/html.ts';
import { markdown } from '../kit/markdown.ts';
import { input, status, textarea } from '../kit/parts.ts';

/** The text refreshes even while someone is typing in the form below it; the form only if no one is. */
export async function description({ issue, can_write }: { issue: Issue; can_write: boolean }): Promise<Html> {
  const text = issue.body_markdown
    ? markdown(issue.body_markdown)
    : html`<p class="soft">No description.</p>`;
  const form = html`<form method="post" action="/issues/${issue.id}/edit">
    !${input({ name: 'title', label: 'Title', value: issue.title, required: true })}
    !${textarea({ name: 'body_markdown', label: 'Description (Markdown)', value: issue.body_markdown, rows: 10 })}
    <button>Save</button>
  </form>`;
  const edit = can_write
    ? html`<details class="edit" data-fold="edit">
        <summary>Edit</summary>
        !${await asShown(form)}
      </details>`
    : '';
  // On a phone the properties are below the whole conversation.
  return html`<section class="card" aria-label="Description">
    <p class="phone-only">!${status(issue.status)} <a class="small" href="#properties">Properties</a></p>
    <div data-reads data-heading="${issue.identifier} ${issue.title}">!${text}</div>
    !${edit}
  </section>`;
}
