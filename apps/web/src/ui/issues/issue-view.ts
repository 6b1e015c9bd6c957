/** Loads what an issue's page shows, and its parts separately: an event refreshes parts, not the page. */
import { listAttachments, listDocumentHeads, listWorkProducts, presentIssue, readFamily } from '@acp/core';
import type { Html } from '../kit/html.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { besidePart, workPart } from './belongings.ts';
import { whatItWaitsFor } from './decisions-part.ts';
import { description } from './description.ts';
import type { IssueView } from './issue-page.ts';
import { loadTimeline, timelinePart, workingPart } from './load-conversation.ts';
import { aroundParts, loadCouncils, loadSubagents, loadWorkspace } from './load-around.ts';
import { loadProperties } from './load-properties.ts';
import { propertiesPart } from './properties-part.ts';
import { loadRuns, runPart } from './run-part.ts';

export type IssueContext = UiContext<'issue'>;

/** The error and what was typed. */
export type Failure = Partial<Pick<IssueView, 'error' | 'draft' | 'promotion'>>;

/** Limit per list; the material page has the rest. */
const MOST_BESIDE = { limit: 50 };

const loadFamily = async ({ tx, subject }: IssueContext) => ({ family: await readFamily(tx, subject.id) });
const loadProducts = async ({ tx, subject }: IssueContext) => ({
  products: (await listWorkProducts(tx, subject, { limit: 11 })).items,
});
const loadMaterial = async ({ tx, subject, services }: IssueContext) => ({
  file_limits: services.upload_limits,
  attachments: (await listAttachments(tx, subject, MOST_BESIDE)).items,
  documents: (await listDocumentHeads(tx, subject, MOST_BESIDE)).items,
});

export async function loadView(context: IssueContext, failure: Failure = {}): Promise<IssueView> {
  const properties = await loadProperties(context, failure.error);
  const runs = await loadRuns(context);
  return {
    ...properties,
    ...(await loadFamily(context)),
    ...(await loadProducts(context)),
    ...(await loadMaterial(context)),
    ...runs,
    agents: [...properties.agents, ...runs.agents],
    councils: await loadCouncils(context),
    subagents: await loadSubagents(context),
    waiting: await whatItWaitsFor(context),
    workspace: await loadWorkspace(context),
    timeline: await loadTimeline(context),
    error: null,
    draft: '',
    promotion: null,
    time_zone: context.user.preferences?.time_zone ?? 'UTC',
    ...failure,
  };
}

/** Parts of the page that the script fetches when the issue has changed. */
export const issueParts: Record<string, (context: IssueContext) => Promise<Html>> = {
  run: async (c) =>
    runPart({
      issue: presentIssue(c.subject),
      can_write: mayWrite(c),
      ...(await loadRuns(c)),
    }),
  decisions: async (c) => (await whatItWaitsFor(c)).part,
  working: async (c) => workingPart(c),
  properties: async (c) => propertiesPart(await loadProperties(c)),
  work: async (c) =>
    workPart({
      issue: c.subject,
      can_write: mayWrite(c),
      ...(await loadFamily(c)),
      ...(await loadProducts(c)),
    }),
  beside: async (c) =>
    besidePart({
      issue: c.subject,
      can_write: mayWrite(c),
      ...(await loadFamily(c)),
      ...(await loadMaterial(c)),
    }),
  description: async (c) => description({ issue: presentIssue(c.subject), can_write: mayWrite(c) }),
  ...aroundParts,
  timeline: async (c) => timelinePart(c),
};
