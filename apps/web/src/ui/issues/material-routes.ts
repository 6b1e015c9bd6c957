import { attachmentEndpoints, documentEndpoints, issueEndpoints } from '@acp/contract';
import {
  findDocument,
  findWorkspace,
  hasDocument,
  listAttachments,
  listDocumentHeads,
  listExecutionDecisions,
  listRevisionHeads,
  listWorkProducts,
  resolveIssueRef,
  slugOf,
} from '@acp/core';
import { conflict, invalid, said, sha256Hex } from '@acp/kernel';
import { companyPage } from '../kit/company-frame.ts';
import type { Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { pageOf } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { issuePage } from './issue-routes.ts';
import { documentBody, materialBody, type MaterialList } from './material-page.ts';

const byIssue = { by: 'issue', param: 'issueId' } as const;
type IssueContext = UiContext<'issue'>;

const back = ({ subject }: IssueContext): string => `/issues/${subject.id}/material`;

async function materialPage(context: IssueContext, error: string | null = null): Promise<Html> {
  const { tx, subject, query } = context;
  const at = (list: MaterialList) => pageOf({ cursor: query[list] ?? '' });
  const body = materialBody({
    id: subject.id,
    attachments: await listAttachments(tx, subject, at('files')),
    documents: await listDocumentHeads(tx, subject, at('documents')),
    products: await listWorkProducts(tx, subject, at('results')),
    decisions: await listExecutionDecisions(tx, subject, at('decisions')),
    changes: (await findWorkspace(tx, subject)) !== undefined,
    can_write: mayWrite(context),
    error,
  });
  return framed(context, `${subject.identifier} ${subject.title}`, body);
}

async function documentPage(context: IssueContext, error: string | null = null): Promise<Html> {
  const { tx, subject, params, query } = context;
  const document = await findDocument(tx, subject, params.key!);
  const older = await listRevisionHeads(tx, document, pageOf(query));
  const body = await documentBody({ id: subject.id, document, older, can_write: mayWrite(context), error });
  return framed(context, document.title, body, [{ label: subject.identifier, path: back(context) }]);
}

const issuePath = ({ subject }: IssueContext): string => `/issues/${subject.id}`;
const failed = (context: IssueContext, error: string): Promise<Html> => issuePage(context, { error });

/** Finds an issue by its identifier `ABC-12`, with or without its title, or by its id. */
async function namedIssue({ tx, company_id }: UiContext, text: string): Promise<string> {
  const [name = ''] = text.trim().split(/\s+/);
  const issue = await resolveIssueRef(tx, company_id, name);
  if (issue === undefined) throw invalid(said`there is no issue ${name}`);
  return issue.id;
}

async function framed(
  context: IssueContext,
  title: string,
  body: Html,
  trail: { label: string; path: string }[] = [],
): Promise<Html> {
  const board = { label: t`Board`, path: `/companies/${context.company_id}/board` };
  return companyPage(context, { title, active: board.path, trail: [board, ...trail], body });
}

/** Words that a key can't have, such as those in other scripts, tell titles apart by a digest. */
function keyOf(title: string): string {
  const words = title.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== '');
  if (words.length === 0) throw invalid('title needs a letter or a digit');
  const slug = slugOf(title);
  if (words.every((word) => slugOf(word) !== '')) return slug;
  return `${slug || 'document'}-${sha256Hex(title.trim().toLowerCase()).slice(0, 8)}`;
}

export const materialRoutes: UiRoute[] = [
  page('/issues/{issueId}/material', { scope: byIssue, role: 'viewer' }, (c) => materialPage(c)),
  action('/issues/{issueId}/labels/{labelId}/add', issueEndpoints.addLabel, { next: issuePath, failed }),
  action('/issues/{issueId}/labels/{labelId}/remove', issueEndpoints.removeLabel, {
    next: issuePath,
    failed,
  }),
  // The label by its name.
  action('/issues/{issueId}/labels/add', issueEndpoints.addLabel, {
    params: (_, form) => ({ labelId: form.text('label_id') }),
    next: issuePath,
    failed,
  }),
  action('/issues/{issueId}/labels', issueEndpoints.createLabel, {
    scope: byIssue,
    read: (form) => ({ name: form.text('name') }),
    next: issuePath,
    failed,
  }),
  action('/issues/{issueId}/relations', issueEndpoints.createRelation, {
    read: async (form, context) => ({
      target_issue_id: await namedIssue(context, form.text('target')),
      relation_type: form.given('relation_type'),
    }),
    next: issuePath,
    failed,
  }),
  action('/issue-relations/{relationId}/delete', issueEndpoints.deleteRelation, {
    // Both ends have the button: return to the one where it was pressed.
    next: ({ subject }, _, form) => {
      const { source_issue_id, target_issue_id } = subject;
      return `/issues/${form.text('at') === target_issue_id ? target_issue_id : source_issue_id}`;
    },
  }),
  action('/issues/{issueId}/attachments', attachmentEndpoints.create, {
    next: (c) => `${issuePath(c)}#files`,
    failed,
  }),
  action('/attachments/{attachmentId}/delete', attachmentEndpoints.delete, {
    next: (c) => `/issues/${c.subject.issue_id}#files`,
  }),
  page('/issues/{issueId}/documents/{key}', { scope: byIssue, role: 'viewer' }, (c) => documentPage(c)),
  action('/issues/{issueId}/documents', documentEndpoints.put, {
    // People give documents a title; the key that agents use is derived from it.
    params: (_, form) => ({ key: keyOf(form.text('title')) }),
    read: (form) => ({ title: form.text('title'), body: form.text('body') }),
    check: async ({ tx, subject }, form) => {
      if (await hasDocument(tx, subject, keyOf(form.text('title'))))
        throw conflict(
          t`There is a document of this title already: change that one, or choose another title.`,
        );
    },
    next: (c, document) => `/issues/${c.subject.id}/documents/${document.key}`,
    failed: materialPage,
  }),
  action('/issues/{issueId}/documents/{key}', documentEndpoints.put, {
    read: ({ whole }) => ({ title: whole.text('title'), body: whole.text('body') }),
    edits: (c) => documentPage(c),
    next: (c) => `/issues/${c.subject.id}/documents/${encodeURIComponent(c.params.key!)}`,
    failed: documentPage,
  }),
  action('/issues/{issueId}/documents/{key}/revisions/{revisionId}/restore', documentEndpoints.restore, {
    next: (c) => `/issues/${c.subject.id}/documents/${encodeURIComponent(c.params.key!)}`,
    failed: documentPage,
  }),
];
