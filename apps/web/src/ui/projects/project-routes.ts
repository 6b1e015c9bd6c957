import { type Project, projectEndpoints as rows, repositoryWebhookEndpoints as hooks } from '@acp/contract';
import { countBoard, findRepositoryWebhook, presentProject } from '@acp/core';
import { roleIn } from '../../http/roles.ts';
import { offerOf } from '../kit/choice.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, t, texts } from '../kit/html.ts';
import { formLink, notice } from '../kit/parts.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite, trashCard } from '../kit/write-access.ts';
import { boardOf, loadProjects, projectList } from './project-list.ts';
import { type Choices, projectForm, readProject } from './project-form.ts';
import { projectCard, projectWork, workPath } from './project-work.ts';
import { webhookCard } from './webhook-card.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byProject = { by: 'project', param: 'projectId' } as const;
const listPath = (company_id: string): string => `/companies/${company_id}/projects`;

const done: Record<string, string> = texts({
  created: 'The project has been created: give it issues.',
  changed: 'Saved.',
  deleted: 'The project is in the trash.',
  unhooked: 'The webhook has been deleted.',
});

/** What a project can be linked to. @param chosen what it is linked to, or what was chosen */
async function choicesOf(
  context: UiContext,
  chosen: Partial<Project>,
  form: FormValues | null,
): Promise<Choices> {
  return {
    goals: await offerOf(context, 'goal', chosen.goal_id, form?.text('goal_id')),
    agents: await offerOf(context, 'agent', chosen.lead_agent_id, form?.text('lead_agent_id')),
  };
}

async function projectsPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { company_id, query } = context;
  const path = listPath(company_id);
  const projects = await loadProjects(context);
  const fresh = mayWrite(context)
    ? await projectForm(
        path,
        t`New project`,
        await choicesOf(context, {}, form),
        error,
        form,
        null,
        isAdmin(context),
      )
    : '';
  const body = html`!${notice(done[query.done ?? ''])}!${projectList(path, query, projects)}!${fresh}`;
  const actions = fresh && projects.items.length > 0 ? formLink(t`New project`, 'name') : '';
  return companyPage(context, { title: t`Projects`, active: path, actions, body });
}

const isAdmin = ({ user, company_id }: UiContext): boolean => roleIn(user, company_id) === 'admin';

async function projectPage(
  context: UiContext<'project'>,
  error: string | null = null,
  form: FormValues | null = null,
  secret: string | null = null,
): Promise<Html> {
  const { subject, company_id, query } = context;
  const path = listPath(company_id);
  const here = `/projects/${subject.id}`;
  const project = presentProject(subject);
  const webhook = await webhookPart(context, secret);
  const edit = mayWrite(context)
    ? html`!${await projectForm(here, t`Edit`, await choicesOf(context, project, form), error, form, project, isAdmin(context))}!${webhook}!${trashCard(`${here}/delete`, project.name, t`Its issues stay. An admin can restore the project from the trash for a while.`)}`
    : '';
  const body = html`!${notice(done[query.done ?? ''])} !${projectCard(project)}
    <section class="card" data-live="issues" data-source="${workPath(project)}">
      !${await workPart(context)}
    </section>
    !${edit}`;
  return companyPage(context, {
    title: project.name,
    active: path,
    trail: [{ label: t`Projects`, path }],
    actions: html`<a class="button" href="${boardOf(project)}">Its issues</a>`,
    body,
  });
}

async function workPart(context: UiContext<'project'>): Promise<Html> {
  const { tx, subject, company_id } = context;
  return projectWork(
    subject,
    await countBoard(tx, company_id, { project_id: subject.id }),
    mayWrite(context),
  );
}

async function webhookPart(context: UiContext<'project'>, secret: string | null): Promise<Html> {
  const { tx, subject, services } = context;
  if (!isAdmin(context) || subject.repo_url === null) return '';
  const webhook = await findRepositoryWebhook(tx, subject);
  return webhookCard(subject.id, { webhook, public_url: services.public_url, secret });
}

export const projectRoutes: UiRoute[] = [
  page('/companies/{companyId}/projects', { scope: byCompany, role: 'viewer' }, (c) => projectsPage(c)),
  action('/companies/{companyId}/projects', rows.create, {
    read: readProject,
    next: (_c, project) => `/projects/${project.id}?done=created`,
    failed: projectsPage,
  }),
  page('/projects/{projectId}/part/work', { scope: byProject, role: 'viewer' }, workPart),
  page('/projects/{projectId}', { scope: byProject, role: 'viewer' }, (c) => projectPage(c)),
  action('/projects/{projectId}', rows.update, {
    read: readProject,
    edits: (c) => projectPage(c),
    next: (c) => `/projects/${c.subject.id}?done=changed`,
    failed: projectPage,
  }),
  action('/projects/{projectId}/webhook', hooks.create, {
    // A secret is shown only in this response.
    next: (c, { secret }) => projectPage(c, null, null, secret),
    failed: (c, error) => projectPage(c, error),
  }),
  action('/projects/{projectId}/webhook/delete', hooks.delete, {
    next: (c) => `/projects/${c.subject.id}?done=unhooked`,
    failed: (c, error) => projectPage(c, error),
  }),
  action('/projects/{projectId}/delete', rows.delete, {
    next: (c) => `${listPath(c.company_id)}?done=deleted`,
    failed: projectPage,
  }),
];
