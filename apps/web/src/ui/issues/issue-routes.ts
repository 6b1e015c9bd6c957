import {
  type BodyOf,
  commentEndpoints,
  councilEndpoints,
  issueEndpoints,
  routineEndpoints,
  runEndpoints,
} from '@acp/contract';
import {
  findWorkspace,
  issueActivity,
  issueDetail,
  listAgents,
  listCouncils,
  listProjects,
  listRunEvents,
  listRuns,
  listSubagents,
  outlineComments,
  presentWorkspace,
  readFamily,
} from '@acp/core';
import { roleIn } from '../../http/roles.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import type { Html } from '../kit/html.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { readPromotion } from '../routines/promote-form.ts';
import { FIRST_ENTRIES } from '../runs/transcript.ts';
import { subagentTree } from '../subagents/subagent-tree.ts';
import { councilsPart } from '../councils/council-pages.ts';
import { changesCard } from '../workspaces/changes-page.ts';
import { description, issueBody, type IssueView, propertiesPart, runPart } from './issue-page.ts';
import { newIssueBody } from './new-issue-page.ts';
import { timeline } from './timeline.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byIssue = { by: 'issue', param: 'issueId' } as const;

type IssueContext = UiContext<'issue'>;

/** What did not go well, and what was typed. */
type Failure = Partial<Pick<IssueView, 'error' | 'draft' | 'promotion'>>;

/** Of a comment, in characters; a longer one is folded before it is read. */
const LONGEST_SHOWN = 50_000;

async function loadView(context: IssueContext, failure: Failure = {}): Promise<IssueView> {
  const { tx, user, subject, company_id } = context;
  const [issue, family] = [await issueDetail(tx, subject), await readFamily(tx, subject.id)];
  const { agents } = await listAgents(tx, user, { company_id });
  const { items: projects } = await listProjects(tx, company_id, { limit: 200 });
  const cursor = context.query.before;
  const comments = await outlineComments(tx, subject, cursor === undefined ? {} : { cursor }, LONGEST_SHOWN);
  const { items: activity } = await issueActivity(tx, subject, { limit: 200 });
  const { items: runs } = await listRuns(tx, user, company_id, { issueId: subject.id, limit: 10 });
  const events = runs[0] ? await listRunEvents(tx, user, runs[0].id, { limit: FIRST_ENTRIES }) : [];
  const workspace = await findWorkspace(tx, subject);
  const can_write = roleIn(user, company_id) !== 'viewer';
  const councilsOn = context.services.instance.hasFeature('councils');
  const names = new Map(agents.map(({ id, name }) => [id, name]));
  return {
    issue,
    family,
    councils: councilsOn ? (await listCouncils(tx, subject, { limit: 20 })).items : null,
    subagents: await listSubagents(tx, { issue_id: subject.id }),
    workspace: workspace === undefined ? null : presentWorkspace(workspace),
    runs,
    events,
    timeline: {
      issue_id: issue.id,
      company_id,
      user,
      comments: comments.items,
      earlier: comments.next_cursor,
      activity,
      agents: names,
      can_write,
    },
    agents,
    projects: projects.map(({ id, name }) => ({ value: id, label: name })),
    can_write,
    error: null,
    draft: '',
    promotion: null,
    ...failure,
  };
}

async function issuePage(context: IssueContext, failure: Failure = {}): Promise<Html> {
  const view = await loadView(context, failure);
  const { issue } = view;
  const board = { label: 'Board', path: `/companies/${issue.company_id}/board` };
  const ancestors = issue.ancestors
    .toReversed()
    .map(({ id, identifier }) => ({ label: identifier, path: `/issues/${id}` }));
  return companyPage(context, {
    title: `${issue.identifier} ${issue.title}`,
    active: board.path,
    trail: [board, ...ancestors],
    body: issueBody(view),
  });
}

const back = ({ subject }: IssueContext): string => `/issues/${subject.id}`;
const again = (context: IssueContext, error: string, form: FormValues): Promise<Html> =>
  issuePage(context, { error, draft: form.text('body_markdown') });

/** Parts of the page that the script asks for when the issue has changed. */
const parts: Record<string, (view: IssueView) => Html> = {
  run: runPart,
  properties: propertiesPart,
  changes: ({ workspace }) => changesCard(workspace),
  description,
  subagents: ({ subagents }) => subagentTree(subagents),
  councils: ({ issue, councils, agents, can_write }) =>
    councils === null ? '' : councilsPart(issue, councils, agents, can_write),
  timeline: (view) => timeline(view.timeline),
};

const newIssue = (form: FormValues): BodyOf<typeof issueEndpoints.create> => ({
  title: form.text('title'),
  body_markdown: form.cleared('body_markdown'),
  priority: form.given('priority') as never,
  assignee_agent_id: form.cleared('assignee_agent_id'),
  project_id: form.cleared('project_id'),
});

async function newIssuePage(
  context: UiContext<'company'>,
  error: string | null,
  form: FormValues | null,
): Promise<Html> {
  const { tx, user, company_id } = context;
  const { agents } = await listAgents(tx, user, { company_id });
  const { items: projects } = await listProjects(tx, company_id, { limit: 200 });
  const board = `/companies/${company_id}/board`;
  return companyPage(context, {
    title: 'New issue',
    active: board,
    trail: [{ label: 'Board', path: board }],
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
    const render = Object.hasOwn(parts, name) ? parts[name] : undefined;
    return render ? render(await loadView(c)) : '';
  }),
  action('/issues/{issueId}/properties', issueEndpoints.update, {
    read: (form) => ({
      status: form.given('status'),
      priority: form.given('priority'),
      assignee_agent_id: form.cleared('assignee_agent_id'),
      project_id: form.cleared('project_id'),
    }),
    next: back,
    failed: again,
  }),
  action('/issues/{issueId}/edit', issueEndpoints.update, {
    read: (form) => ({ title: form.text('title'), body_markdown: form.cleared('body_markdown') }),
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
    next: back,
    failed: (c, error) => issuePage(c, { error }),
  }),
  action('/issues/{issueId}/promote-routine', routineEndpoints.promote, {
    read: readPromotion,
    next: (_, routine) => `/routines/${routine.id}?done=promoted`,
    failed: (c, error, form) => issuePage(c, { promotion: { error, form } }),
  }),
];
