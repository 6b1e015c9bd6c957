/** What belongs to an issue and is edited in place: labels, relations, parts, files, documents, results. */
import {
  type Attachment,
  type IssueDetail,
  type Label,
  type RelationType,
  relationTypes,
  type WorkProduct,
} from '@acp/contract';
import type { DocumentHead, Family, RelatedIssue, Relative } from '@acp/core';
import { choice, type Offer } from '../kit/choice.ts';
import type { FieldErrors } from '../kit/field-errors.ts';
import { type FileLimits, limitsInWords, limitsOfAll, limitsOfEach } from '../kit/file-limits.ts';
import { fileSize, words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { input, postButton, select, status } from '../kit/parts.ts';
import { documentPath, resultLink } from './material-page.ts';

export interface BelongingsView {
  issue: Pick<IssueDetail, 'id' | 'company_id'>;
  family: Family;
  attachments: readonly Attachment[];
  file_limits: FileLimits;
  documents: readonly DocumentHead[];
  products: readonly WorkProduct[];
  can_write: boolean;
}

/** The issue's parts and results: in the middle of the page, where the work is. */
export function workPart(view: Pick<BelongingsView, 'issue' | 'family' | 'products' | 'can_write'>): Html {
  return html`!${partsOfIssue(view)}!${resultsPart(view)}`;
}

const PARTS_SHOWN = 20;

function partsOfIssue({
  issue,
  family: { children, parts },
  can_write,
}: Pick<BelongingsView, 'issue' | 'family' | 'can_write'>): Html {
  if (children.length === 0 && !can_write) return '';
  const add = (): Html =>
    html`<details data-fold="add-part">
      <summary>Add a part</summary>
      <form class="row" method="post" action="/issues/${issue.id}/parts">
        !${input({ name: 'title', id: 'part-title', label: 'Title', required: true })}
        <button class="quiet">Add</button>
      </form>
    </details>`;
  if (children.length === 0) return html`<div class="add-part">!${add()}</div>`;
  return html`<section class="card">
    <h2>Parts <span class="soft small">${parts.ended} of ${parts.all} done</span></h2>
    <ul class="list">
      !${each(children.slice(0, PARTS_SHOWN), relative)}
    </ul>
    !${when(
      children.length > PARTS_SHOWN,
      () =>
        html`<details data-fold="parts">
          <summary>${parts.all - PARTS_SHOWN} more</summary>
          <ul class="list">
            !${each(children.slice(PARTS_SHOWN), relative)}
          </ul>
          !${when(parts.all > children.length, () => html`<p class="soft small">Only the first ${children.length} are listed.</p>`)}
        </details>`,
    )}
    !${when(can_write, add)}
  </section>`;
}

function relative({ id, identifier, title, status: state, assignee_name }: Relative): Html {
  return html`<li>
    !${status(state)}
    <a class="grow" href="/issues/${id}"><span class="identifier">${identifier}</span> ${title}</a>
    <span class="soft small">${assignee_name ?? ''}</span>
  </li>`;
}

/** Only the newest: the material page shows all of them, with their contents. */
const RESULTS_SHOWN = 10;

function resultsPart({ issue, products }: Pick<BelongingsView, 'issue' | 'products'>): Html {
  return when(
    products.length > 0,
    () =>
      html`<section class="card">
        <h2>Results</h2>
        <ul class="list">
          !${each(
            products.slice(0, RESULTS_SHOWN),
            (product) =>
              html`<li>
                !${status(product.status)} <span class="grow">!${resultLink(product)}</span>
                <span class="soft small">${words(product.type)}</span>
                !${when(product.review_state !== 'none', () => status(product.review_state))}
              </li>`,
          )}
        </ul>
        !${when(products.length > RESULTS_SHOWN, () => html`<p class="more"><a href="/issues/${issue.id}/material">All results</a></p>`)}
      </section>`,
  );
}

export interface LabelsView {
  issue: IssueDetail;
  /** The company's labels that the issue lacks, unless a name is to be typed. */
  other_labels: readonly Label[];
  labels: Offer;
  errors: FieldErrors;
  can_write: boolean;
}

/** Labels, added and removed by a click. */
export function labelsPart({ issue, other_labels, labels: offer, errors, can_write }: LabelsView): Html {
  const { id, labels } = issue;
  const press = (label: Label, act: 'add' | 'remove'): Html =>
    html`<form method="post" action="/issues/${id}/labels/${label.id}/${act}" class="inline" data-quiet>
      <button
        class="label"
        !${attributes({ 'aria-label': act === 'add' ? t`Add the label ${label.name}` : t`Remove the label ${label.name}` })}
      >
        !${colour(label)}${label.name} <span aria-hidden="true">${act === 'add' ? '+' : '×'}</span>
      </button>
    </form>`;
  const shown = (label: Label): Html =>
    can_write ? press(label, 'remove') : html`<span class="label">!${colour(label)}${label.name}</span>`;
  return html`<section aria-label="Labels">
    <h3>Labels</h3>
    <div class="labels">
      !${each(labels, shown)}!${when(labels.length === 0, () => html`<span class="soft small">none</span>`)}
    </div>
    !${when(
      can_write,
      () =>
        html`<details data-fold="labels">
          <summary>Add a label</summary>
          !${
            offer.source === null
              ? html`<div class="labels">!${each(other_labels, (label) => press(label, 'add'))}</div>`
              : html`<form class="row" method="post" action="/issues/${id}/labels/add" data-autosubmit>
                  !${choice({ name: 'label_id', label: 'Label', value: '', required: true, offer, error: errors.of('label_id') })}
                  <button class="quiet" data-noscript>Add</button>
                </form>`
          }
          <form class="row" method="post" action="/issues/${id}/labels">
            !${input({ name: 'name', id: 'label-name', label: 'New label', required: true })}
            <button class="quiet">Create</button>
          </form>
        </details>`,
    )}
  </section>`;
}

/** An SVG attribute, since the policy allows no inline styles. The colour of a label is arbitrary user input. */
const colour = ({ color }: Label): Html =>
  when(
    color && /^(?:#[\da-f]{3,8}|[a-z]{3,30})$/i.test(color) && color,
    (fill) =>
      html`<svg class="swatch" viewBox="0 0 8 8" aria-hidden="true">
        <circle cx="4" cy="4" r="4" fill="${fill}" />
      </svg>`,
  );

/** Relation names, as seen from this issue in either direction. */
const relationNames: Record<RelationType, Record<RelatedIssue['direction'], string>> = texts({
  blocks: { out: 'blocks', in: 'is blocked by' },
  depends_on: { out: 'depends on', in: 'is needed by' },
  relates_to: { out: 'relates to', in: 'relates to' },
});

/** The side column. Each kind has a form of its own: input in one survives changes to the others. */
export function besidePart(view: Omit<BelongingsView, 'products'>): Html {
  return html`<div class="card">!${relationsPart(view)}!${filesPart(view)}!${documentsPart(view)}</div>`;
}

function relationsPart({ issue, family: { related }, can_write }: Omit<BelongingsView, 'products'>): Html {
  const line = (other: RelatedIssue): Html =>
    html`<li>
      <span class="soft small">${relationNames[other.relation_type][other.direction]}</span>
      <a class="grow" href="/issues/${other.id}" title="${other.title}"
        ><span class="identifier">${other.identifier}</span> ${other.title}</a
      >
      !${status(other.status)}
      !${when(can_write, () =>
        postButton(`/issue-relations/${other.relation_id}/delete`, 'Remove', {
          class: 'link small',
          fields: { at: issue.id },
        }),
      )}
    </li>`;
  const types = relationTypes.map((value) => ({ value, label: relationNames[value].out }));
  return html`<section aria-label="Relations" id="relations">
    <h3>Relations</h3>
    <ul class="list tight">
      !${each(related, line)}
    </ul>
    !${when(related.length === 0, () => html`<p class="soft small">none</p>`)}
    !${when(
      can_write,
      () =>
        html`<details data-fold="relate">
          <summary>Relate to an issue</summary>
          <form method="post" action="/issues/${issue.id}/relations">
            !${select({ name: 'relation_type', label: 'This issue', value: 'relates_to', choices: types })}
            !${input({ name: 'target', label: 'Issue', required: true, list: 'issues-offered', hint: 'Its number, as in ABC-12, or words of its title' })}
            <datalist id="issues-offered"></datalist>
            <button class="quiet">Relate</button>
          </form>
        </details>`,
    )}
  </section>`;
}

function filesPart(view: Omit<BelongingsView, 'products'>): Html {
  const { issue, attachments, file_limits, can_write } = view;
  const line = (file: Attachment): Html =>
    html`<li>
      <a class="grow" href="/api/attachments/${file.id}/download" download>${file.filename}</a>
      <span class="soft small">${fileSize(file.size_bytes)}</span>
      !${when(can_write, () =>
        postButton(`/attachments/${file.id}/delete`, 'Delete', {
          class: 'link small',
          confirm: t`Delete ${file.filename} permanently?`,
        }),
      )}
    </li>`;
  const takes = (): Html =>
    attributes({ 'data-file-list': true, 'data-files': `/api/issues/${issue.id}/attachments` }) +
    limitsOfEach(file_limits);
  return html`<section aria-label="Files" id="files" !${when(can_write, takes)}>
    <h3>Files</h3>
    <ul class="list tight">
      !${each(attachments, line)}
    </ul>
    !${when(attachments.length === 0, () => html`<p class="soft small">none</p>`)}
    !${when(
      can_write,
      () =>
        html`<details data-fold="upload">
          <summary>Add files</summary>
          <form method="post" action="/issues/${issue.id}/attachments" enctype="multipart/form-data">
            <div class="field">
              <label for="f-file">Files</label
              ><input
                id="f-file"
                name="file"
                type="file"
                multiple
                required
                aria-describedby="h-file"
                !${limitsOfAll(file_limits)}
              />
              <p class="hint" id="h-file">
                ${limitsInWords(file_limits)}
                <span data-script-only>Any number can be dropped here.</span>
              </p>
            </div>
            <button class="quiet">Upload</button>
          </form>
        </details>`,
    )}
  </section>`;
}

function documentsPart({ issue, documents, can_write }: Omit<BelongingsView, 'products'>): Html {
  const line = ({ key, title, latest_revision_number }: DocumentHead): Html =>
    html`<li>
      <a class="grow" href="${documentPath(issue.id, key)}">${title}</a>
      <span class="soft small">revision ${latest_revision_number}</span>
    </li>`;
  return html`<section aria-label="Documents">
    <h3>Documents</h3>
    <ul class="list tight">
      !${each(documents, line)}
    </ul>
    !${when(can_write, () => html`<p class="small"><a href="/issues/${issue.id}/material">Write a document</a></p>`)}
  </section>`;
}
