/** A company's compiled index: what agents read, what awaits promotion, and how it is compiled. */
import type { CompiledIndex, CompiledIndexVersion, CompiledStatement } from '@acp/contract';
import { asShown } from '../kit/as-shown.ts';
import { choice, type Offer } from '../kit/choice.ts';
import type { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, timeTo } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { plural, say, t } from '../kit/language.ts';
import { emptyState, input, postButton, status } from '../kit/parts.ts';
import { textDiff } from '../kit/text-diff.ts';

export interface IndexView {
  company_id: string;
  index: CompiledIndex;
  has_knowledge: boolean;
  agents: Offer;
  is_admin: boolean;
  /** Of the form that was refused. */
  errors: FieldErrors;
}

export const indexPath = (company_id: string): string => `/companies/${company_id}/knowledge/index`;

export async function indexBody(view: IndexView): Promise<Html> {
  const here = indexPath(view.company_id);
  return html`<p class="soft">
      What the company knows, on one page that is part of its agents’ prompts. Each statement links to its
      sources. A new version is a draft until an admin promotes it.
    </p>
    <div data-live="knowledge" data-source="${here}/part/versions">!${indexPart(view)}</div>
    !${view.is_admin ? await settingsForm(view) : ''}`;
}

export function indexPart(view: IndexView): Html {
  const { promoted, draft, history } = view.index;
  return html`!${underWay(view)}!${when(draft, (version) => draftCard(view, version))}
  !${
    promoted === null
      ? emptyState(
          'Agents have no index to read yet',
          html`The first one appears once an admin has promoted a draft.`,
        )
      : html`<section class="card" aria-label="Promoted">
          <h2>What agents read</h2>
          <p class="soft small">Version ${promoted.version}, promoted !${timeAgo(promoted.promoted_at)}</p>
          !${statementList(promoted.statements)}
        </section>`
  }
  !${when(
    history.length > 0,
    () =>
      html`<section class="card" aria-label="Versions">
        <h2>Versions</h2>
        <ul class="list">
          !${each(
            history,
            (version) =>
              html`<li>
                !${status(version.status)}
                <span class="grow"
                  >Version
                  ${version.version}!${when(version.statement_count, (count) => plural(count, ', # statement', ', # statements'))}!${when(version.error, (error) => html`: ${say(error)}`)}</span
                >
                <span class="soft small">!${timeAgo(version.created_at)}</span>
              </li>`,
          )}
        </ul>
      </section>`,
  )}`;
}

function underWay({ company_id, index, has_knowledge, is_admin }: IndexView): Html {
  const { compiling, unread_sources: unread } = index;
  const here = indexPath(company_id);
  if (compiling === null)
    return html`<section class="card" aria-label="State">
      <p>
        ${!has_knowledge ? t`There is no knowledge to read yet: notes, documents, files, and what closed issues came to.` : unread === 0 ? t`All knowledge has been read.` : plural(unread, 'New, or changed since it was read: # source.', 'New, or changed since they were read: # sources.')}
      </p>
      !${when(is_admin, () => postButton(`${here}/compile`, 'Compile now'))}
    </section>`;
  return html`<section class="card" aria-label="State">
    <div class="comment-head">
      !${status('running')}
      <span
        >Version ${compiling.version} is being compiled: ${compiling.batches_done} of ${compiling.batches}
        portions are read.</span
      >
      <span class="grow"></span>
      !${when(is_admin, () => postButton(`${here}/cancel`, 'Cancel it', { class: 'quiet small' }))}
    </div>
    !${when(compiling.waiting_reason, (why) => html`<p class="soft">It waits: ${say(why)}.</p>`)}
  </section>`;
}

function draftCard({ company_id, index, is_admin }: IndexView, draft: CompiledIndexVersion): Html {
  const act = (what: string, label: string, options: { class?: string; confirm?: string } = {}): Html =>
    postButton(`${indexPath(company_id)}/${what}?version=${draft.version}`, label, options);
  return html`<section class="card" aria-label="Draft">
    <h2>Draft</h2>
    <p class="soft small">Version ${draft.version}, compiled !${timeAgo(draft.finished_at)}</p>
    !${when(draft.error, (error) => html`<p class="error">It ended early: ${say(error)}</p>`)}
    !${when(
      is_admin,
      () =>
        html`<div class="row">
          !${act('promote', t`Promote it`)}
          !${act('discard', t`Discard it`, { class: 'quiet', confirm: 'Discard the draft? Its sources are read again by the next compilation.' })}
        </div>`,
    )}
    !${
      index.promoted === null
        ? ''
        : html`<details open>
            <summary>Differences from what agents read</summary>
            !${textDiff(plain(index.promoted.statements), plain(draft.statements))}
          </details>`
    }
    <details !${index.promoted === null ? 'open' : ''}>
      <summary>All statements with their sources (${draft.statements.length})</summary>
      !${statementList(draft.statements)}
    </details>
  </section>`;
}

/** Plain text for the diff: one statement per line, under its topic. */
function plain(statements: readonly CompiledStatement[]): string {
  return [...byTopic(statements)]
    .map(([, own]) => `${own[0]!.topic}\n${own.map(({ text }) => `- ${text}\n`).join('')}`)
    .join('\n');
}

const byTopic = (statements: readonly CompiledStatement[]): Map<string, CompiledStatement[]> =>
  Map.groupBy(statements, ({ topic }) => topic.toLowerCase());

function statementList(statements: readonly CompiledStatement[]): Html {
  if (statements.length === 0) return html`<p class="soft">It is empty.</p>`;
  return each(
    [...byTopic(statements)],
    ([, own]) =>
      html`<h3>${own[0]!.topic}</h3>
        <ul>
          !${each(own, statement)}
        </ul>`,
  );
}

function statement({ text, sources }: CompiledStatement): Html {
  const gone = sources.some(({ state }) => state === 'gone');
  const stale = sources.some(({ state }) => state === 'changed');
  return html`<li>
    ${text}
    <span class="soft small"
      >!${each(sources, ({ title, url }) => when(url, (to) => html`<a href="${to}">${title ?? t`source`}</a> `))}</span
    >
    !${when(gone, () => html`<span class="status" data-status="blocked">a source is gone: hidden from agents</span>`)}
    !${when(stale && !gone, () => html`<span class="status" data-status="waiting">its source has changed</span>`)}
  </li>`;
}

async function settingsForm({ company_id, index, agents, errors }: IndexView): Promise<Html> {
  const { agent_id, every_hours: hours, next_at: next } = index.settings;
  const fields = html`<form method="post" action="${indexPath(company_id)}/settings">
    <div class="row">
      !${choice({ name: 'agent_id', label: 'Agent whose model compiles, and whose budget pays', value: agent_id ?? '', offer: agents, fixed: [{ value: '', label: t`nobody` }] })}
      !${input({ name: 'every_hours', label: 'Interval in hours', type: 'number', min: 1, value: hours ?? '', hint: 'Empty: only when asked', error: errors.of('every_hours') })}
    </div>
    <button>Save</button>
  </form>`;
  return html`<section class="card">
    <h2>How it is compiled</h2>
    !${await asShown(fields)}!${when(next, (at) => html`<p class="soft small">The next time: !${timeTo(at)}</p>`)}
  </section>`;
}
