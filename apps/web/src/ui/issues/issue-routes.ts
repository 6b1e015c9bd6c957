import {
  type BodyOf,
  commentEndpoints,
  councilEndpoints,
  issueEndpoints,
  routineEndpoints,
  runEndpoints,
} from '@acp/contract';
import { companyPage } from '../kit/company-frame.ts';
import { offerOf } from '../kit/choice.ts';
import type { FormValues } from '../kit/form-values.ts';
import { type Html, t } from '../kit/html.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { readPromotion } from '../routines/promote-form.ts';
import { issueBody } from './issue-page.ts';
import { type Failure, type IssueContext, issueParts, loadView } from './issue-view.ts';
import { newIssueBody } from './new-issue-page.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byIssue = { by: 'issue', param: 'issueId' } as const;

export async function issuePage(context: IssueContext, failure: Failure = {}): Promise<Html> {
  const view = await loadView(context, failure);
  const { issue } = view;
  const board = { label: t`Board`, path: `/companies/${issue.company_id}/board` };
  const ancestors = issue.ancestors
    .toReversed()
    .map(({ id, identifier }) => ({ label: identifier, path: `/issues/${id}` }));
  return companyPage(context, {
    title: `${issue.identifier} ${issue.title}`,
    active: board.path,
    trail: [board, ...ancestors],
    body: await issueBody(view),
  });
}

const back = ({ subject }: IssueContext): string => `/issues/${subject.id}`;
const again = (context: IssueContext, error: string, form: FormValues): Promise<Html> =>
  issuePage(context, { error, draft: form.text('body_markdown') });

const newIssue = (form: FormValues): BodyOf<typeof issueEndpoints.create> => ({
  title: form.text('title'),
  body_markdown: form.cleared('body_markdown'),
  priority: form.given('priority') as never,
  assignee_agent_id: form.chosen('assignee_agent_id'),
  project_id: form.chosen('project_id'),
});

async function newIssuePage(
  context: UiContext<'company'>,
  error: string | null,
  form: FormValues | null,
): Promise<Html> {
  const { company_id } = context;
  const agents = await offerOf(context, 'agent', form?.text('assignee_agent_id'));
  const projects = await offerOf(context, 'project', form?.text('project_id'));
  const board = `/companies/${company_id}/board`;
  return companyPage(context, {
    title: t`New issue`,
    active: board,
    trail: [{ label: t`Board`, path: board }],
    body: newIssueBody({ company_id, agents, projects, error, form }),
  });
}

export const issueRoutes: UiRoute[] = [
  page('/companies/{companyId}/issues/new', { scope: byCompany, role: 'member' }, (c) =>
    newIssuePage(c, null, null),
  ),
  action('/companies/{companyId}/issues/new', issueEndpoints.create, {
    read: newIssue,
    next: (_, made) => `/issues/${'issue' in made ? made.issue.id : made.id}`,
    failed: (c, error, form) => newIssuePage(c, error, form),
  }),
  page('/issues/{issueId}', { scope: byIssue, role: 'viewer' }, (c) => issuePage(c)),
  page('/issues/{issueId}/part/{part}', { scope: byIssue, role: 'viewer' }, async (c) => {
    const name = c.params.part ?? '';
    const render = Object.hasOwn(issueParts, name) ? issueParts[name] : undefined;
    return render ? render(c) : '';
  }),
  action('/issues/{issueId}/properties', issueEndpoints.update, {
    read: (form) => ({
      status: form.given('status'),
      priority: form.given('priority'),
      assignee_agent_id: form.chosen('assignee_agent_id'),
      project_id: form.chosen('project_id'),
    }),
    next: back,
    failed: again,
  }),
  action('/issues/{issueId}/edit', issueEndpoints.update, {
    edits: (c) => issuePage(c),
    read: (form) => ({ title: form.sent('title'), body_markdown: form.cleared('body_markdown') }),
    next: back,
    failed: (c, error) => issuePage(c, { error }),
  }),
  action('/issues/{issueId}/parts', issueEndpoints.create, {
    scope: byIssue,
    read: (form, { subject }) => ({ title: form.text('title'), parent_issue_id: subject.id }),
    next: back,
    failed: (c, error) => issuePage(c, { error }),
  }),
  action('/issues/{issueId}/comments', commentEndpoints.create, {
    read: (form) => ({
      body_markdown: form.text('body_markdown'),
      resume_after: form.checked('resume_after'),
    }),
    next: (c, comment) => `/issues/${c.subject.id}#comment-${comment.id}`,
    failed: again,
  }),
  action('/issues/{issueId}/comments/{commentId}/pin', commentEndpoints.pin, {
    next: back,
  }),
  action('/issues/{issueId}/convene-council', councilEndpoints.convene, {
    read: (form) => {
      const agent_ids = form.all('agent_ids').filter((id) => id !== '');
      return {
        question: form.cleared('question'),
        rounds: form.number('rounds'),
        ...(agent_ids.length === 0 ? {} : { agent_ids: [...agent_ids] }),
      };
    },
    next: (_, { id }) => `/councils/${id}`,
    failed: (c, error) => issuePage(c, { error }),
  }),
  action('/issues/{issueId}/trigger', runEndpoints.triggerIssue, {
    read: (form) => ({ model: form.given('model')?.trim() }),
    next: back,
    failed: (c, error) => issuePage(c, { error }),
  }),
  action('/issues/{issueId}/promote-routine', routineEndpoints.promote, {
    read: readPromotion,
    next: (_, routine) => `/routines/${routine.id}?done=promoted`,
    failed: (c, error, form) => issuePage(c, { promotion: { error, form } }),
  }),
];
