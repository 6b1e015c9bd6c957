import { type Run, runEndpoints, runStatuses } from '@acp/contract';
import {
  findIssue,
  findRunBefore,
  fleetWaits,
  hasChangedFiles,
  issueNames,
  agentOutlinesById,
  listRunEvents,
  listRuns,
  listRunSteps,
  listRunTools,
  mayReadRun,
  presentRun,
  readRunText,
  runRefusals,
} from '@acp/core';
import { isUuid } from '@acp/kernel';
import { roleIn } from '../../http/roles.ts';
import { offerOf } from '../kit/choice.ts';
import { resolveQuery } from '../kit/choice-names.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { compareBody } from './compare-page.ts';
import { type RunTime, runSteps } from './run-steps.ts';
import { runBody, runFacts, runList, runsBody } from './runs-pages.ts';
import { FIRST_ENTRIES, transcriptEntries } from './transcript.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byRun = { by: 'run', param: 'runId' } as const;

/** Filters in the address; invalid values are ignored. */
function filterOf(query: UiContext['query']) {
  const { agent = '', status = '', issue = '' } = query;
  return {
    ...(isUuid(issue) ? { issueId: issue } : {}),
    ...(isUuid(agent) ? { agentId: agent } : {}),
    ...(runStatuses.some((known) => known === status) ? { status } : {}),
  };
}

/** What the page shows besides the transcript. */
async function factsOf({ tx, user, subject, company_id }: UiContext<'run'>) {
  const run: Run = presentRun(subject, user);
  const [agent] = await agentOutlinesById(tx, company_id, [run.agent_id]);
  const role = roleIn(user, company_id);
  const readable = mayReadRun(subject, user);
  return {
    run,
    agent,
    issue: run.issue_id === null ? undefined : await findIssue(tx, run.issue_id),
    error_category: subject.error_category,
    can_cancel: role !== 'viewer',
    is_admin: role === 'admin',
    readable,
    changes: await hasChangedFiles(tx, run.id),
    // Where a run wanted to go says what it is about.
    refused: readable ? await runRefusals(tx, run.id) : [],
    waits: (await fleetWaits(tx, [run])).get(run.id),
    sees_fleet: user.instance_role === 'admin',
  };
}

async function timeOf({ tx, user, subject }: UiContext<'run'>): Promise<RunTime> {
  return {
    steps: await listRunSteps(tx, user, subject.id),
    tools: await listRunTools(tx, user, subject.id),
  };
}

async function runPage(context: UiContext<'run'>, error: string | null): Promise<Html> {
  const { tx, user, subject, company_id } = context;
  const facts = await factsOf(context);
  const events = await listRunEvents(tx, user, subject.id, { limit: FIRST_ENTRIES });
  const time = await timeOf(context);
  const list = `/companies/${company_id}/runs`;
  return companyPage(context, {
    title: t`Run of ${facts.agent?.name ?? t`an agent`}`,
    active: list,
    trail: [{ label: t`Runs`, path: list }],
    body: runBody({ ...facts, events, time, error }),
  });
}

async function comparePage({ tx, user, subject, company_id, ...context }: UiContext<'run'>): Promise<Html> {
  const before = await findRunBefore(tx, subject);
  const list = `/companies/${company_id}/runs`;
  return companyPage(
    { tx, user, subject, company_id, ...context },
    {
      title: t`Compared with the run before`,
      active: list,
      trail: [
        { label: t`Runs`, path: list },
        { label: t`Run`, path: `/runs/${subject.id}` },
      ],
      body: compareBody({
        readable: [subject, before].every((one) => one === undefined || mayReadRun(one, user)),
        run: presentRun(subject, user),
        text: await readRunText(tx, user, subject.id),
        before: before
          ? { run: presentRun(before, user), text: await readRunText(tx, user, before.id) }
          : null,
      }),
    },
  );
}

export const runsRoutes: UiRoute[] = [
  page('/companies/{companyId}/runs', { scope: byCompany, role: 'viewer' }, async (context) => {
    const { tx, user, company_id, query, fragment } = context;
    const asked = await resolveQuery(context, query);
    const filter = filterOf(asked.query);
    const { items, next_cursor } = await listRuns(tx, user, company_id, {
      ...filter,
      ...(query.cursor ? { cursor: query.cursor } : {}),
    });
    const agents = await agentOutlinesById(
      tx,
      company_id,
      items.map(({ agent_id }) => agent_id),
    );
    const issues = await issueNames(tx, company_id, [
      ...items.map(({ issue_id }) => issue_id),
      filter.issueId ?? null,
    ]);
    const view = {
      company_id,
      runs: items,
      agents,
      offer: await offerOf(context, 'agent', filter.agentId),
      error: new FieldErrors(asked.error, ['agent']).of('agent'),
      issues,
      agent: filter.agentId ?? '',
      status: filter.status ?? '',
      issue: filter.issueId ?? '',
      query,
      next_cursor,
    };
    if (fragment) return runList(view);
    const active = `/companies/${company_id}/runs`;
    return companyPage(context, { title: t`Runs`, active, body: runsBody(view) });
  }),
  page('/runs/{runId}', { scope: byRun, role: 'viewer' }, (context) => runPage(context, null)),
  page('/runs/{runId}/facts', { scope: byRun, role: 'viewer' }, async (c) => runFacts(await factsOf(c))),
  page('/runs/{runId}/compare', { scope: byRun, role: 'viewer' }, comparePage),
  page('/runs/{runId}/part/steps', { scope: byRun, role: 'viewer' }, async (context) =>
    runSteps(presentRun(context.subject, context.user), await timeOf(context)),
  ),
  // Fetched by the transcript's script when it has missed something.
  page('/runs/{runId}/transcript', { scope: byRun, role: 'viewer' }, async ({ tx, user, subject, query }) => {
    const after = Number(query.after ?? 0);
    const known = Number.isSafeInteger(after) && after >= 0 && after < 2 ** 31 ? after : 0;
    return transcriptEntries(
      await listRunEvents(tx, user, subject.id, { after: known, limit: FIRST_ENTRIES }),
    );
  }),
  action('/runs/{runId}/cancel', runEndpoints.cancel, {
    // To what can have the focus: the button is gone.
    next: ({ subject: { id, issue_id } }, _, form) =>
      form.text('back') === 'issue' && issue_id !== null
        ? `/issues/${issue_id}#run-${id}`
        : `/runs/${id}#state`,
    failed: (c, error) => runPage(c, error),
  }),
];
