import { attachmentEndpoints, documentEndpoints, issueEndpoints } from '@acp/contract';
import {
  findDocument,
  findWorkspace,
  labelsOf,
  listAttachments,
  listDocuments,
  listExecutionDecisions,
  listIssues,
  labelsByName,
  listRelations,
  listRevisionHeads,
  listWorkProducts,
  slugOf,
} from '@acp/core';
import { invalid, isUuid } from '@acp/kernel';
import { companyPage } from '../kit/company-frame.ts';
import type { Html } from '../kit/html.ts';
import { pageOf } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { documentBody, materialBody } from './material-page.ts';

const byIssue = { by: 'issue', param: 'issueId' } as const;
type IssueContext = UiContext<'issue'>;

const back = ({ subject }: IssueContext): string => `/issues/${subject.id}/material`;

async function materialPage(context: IssueContext, error: string | null = null): Promise<Html> {
  const { tx, subject, company_id } = context;
  const labels = await labelsOf(tx, subject.id);
  const { items: newest } = await listIssues(tx, company_id, { limit: 200 });
  const body = materialBody({
    id: subject.id,
    company_id,
    labels,
    other_labels: (await labelsByName(tx, company_id)).filter(
      ({ id }) => !labels.some((own) => own.id === id),
    ),
    relations: (await listRelations(tx, subject, {})).items,
    issues: newest.map(({ id, identifier, title }) => ({ value: id, label: `${identifier} ${title}` })),
    attachments: (await listAttachments(tx, subject, {})).items,
    documents: (await listDocuments(tx, subject, {})).items,
    products: (await listWorkProducts(tx, subject, {})).items,
    decisions: (await listExecutionDecisions(tx, subject, {})).items,
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
  const body = documentBody({ id: subject.id, document, older, can_write: mayWrite(context), error });
  return framed(context, document.title, body, [{ label: subject.identifier, path: back(context) }]);
}

async function framed(
  context: IssueContext,
  title: string,
  body: Html,
  trail: { label: string; path: string }[] = [],
): Promise<Html> {
  const board = { label: 'Board', path: `/companies/${context.company_id}/board` };
  return companyPage(context, { title, active: board.path, trail: [board, ...trail], body });
}

function keyOf(title: string): string {
  const key = slugOf(title);
  if (key === '') throw invalid('title needs a letter or a digit');
  return key;
}

export const materialRoutes: UiRoute[] = [
  page('/issues/{issueId}/material', { scope: byIssue, role: 'viewer' }, (c) => materialPage(c)),
  action('/issues/{issueId}/labels/{labelId}/add', issueEndpoints.addLabel, {
    next: back,
    failed: materialPage,
  }),
  action('/issues/{issueId}/labels/{labelId}/remove', issueEndpoints.removeLabel, {
    next: back,
    failed: materialPage,
  }),
  action('/companies/{companyId}/labels', issueEndpoints.createLabel, {
    read: (form) => ({ name: form.text('name') }),
    next: ({ query, company_id }) =>
      query.issue && isUuid(query.issue)
        ? `/issues/${query.issue}/material`
        : `/companies/${company_id}/board`,
  }),
  action('/issues/{issueId}/relations', issueEndpoints.createRelation, {
    read: (form) => ({
      target_issue_id: form.text('target_issue_id'),
      relation_type: form.given('relation_type'),
    }),
    next: back,
    failed: materialPage,
  }),
  action('/issue-relations/{relationId}/delete', issueEndpoints.deleteRelation, {
    next: (c) => `/issues/${c.subject.source_issue_id}/material`,
  }),
  action('/issues/{issueId}/attachments', attachmentEndpoints.create, {
    next: back,
    failed: materialPage,
  }),
  action('/attachments/{attachmentId}/delete', attachmentEndpoints.delete, {
    next: (c) => `/issues/${c.subject.issue_id}/material`,
  }),
  page('/issues/{issueId}/documents/{key}', { scope: byIssue, role: 'viewer' }, (c) => documentPage(c)),
  action('/issues/{issueId}/documents', documentEndpoints.put, {
    // People name documents; the key that agents use comes of it.
    params: (_, form) => ({ key: keyOf(form.text('title')) }),
    read: (form) => ({ title: form.text('title'), body: form.text('body') }),
    next: (c, document) => `/issues/${c.subject.id}/documents/${document.key}`,
    failed: materialPage,
  }),
  action('/issues/{issueId}/documents/{key}', documentEndpoints.put, {
    read: (form) => ({ title: form.text('title'), body: form.text('body') }),
    next: (c) => `/issues/${c.subject.id}/documents/${encodeURIComponent(c.params.key!)}`,
    failed: documentPage,
  }),
  action('/issues/{issueId}/documents/{key}/revisions/{revisionId}/restore', documentEndpoints.restore, {
    next: (c) => `/issues/${c.subject.id}/documents/${encodeURIComponent(c.params.key!)}`,
    failed: documentPage,
  }),
];
