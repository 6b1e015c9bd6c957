/** Loads the conversation on an issue, and renders its parts. */
import { agentOutlinesById, countEarlierComments, issueActivity, outlineComments } from '@acp/core';
import type { Html } from '../kit/html.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { agentsOf } from './run-part.ts';
import { timeline, type TimelineView } from './timeline.ts';
import { loadWorking, workingBar } from './working-bar.ts';

/** Maximum length of a comment in characters; longer ones are folded before they are loaded. */
const LONGEST_SHOWN = 50_000;

export async function loadTimeline(context: UiContext<'issue'>): Promise<TimelineView> {
  const { tx, user, subject, company_id } = context;
  const { before: cursor, seen = '' } = context.query;
  const comments = await outlineComments(tx, subject, cursor === undefined ? {} : { cursor }, LONGEST_SHOWN);
  // The newest is the first.
  const oldest = comments.items.at(-1);
  const authors = await agentOutlinesById(
    tx,
    company_id,
    comments.items.map(({ author_agent_id }) => author_agent_id),
  );
  const { items: activity } = await issueActivity(tx, subject, { limit: 200, cursor });
  return {
    issue_id: subject.id,
    company_id,
    user,
    comments: comments.items,
    earlier:
      comments.next_cursor === null || oldest === undefined
        ? null
        : { cursor: comments.next_cursor, count: await countEarlierComments(tx, subject, oldest) },
    before: cursor ?? null,
    seen: Number.isNaN(Date.parse(seen)) ? null : new Date(seen),
    activity,
    agents: new Map(authors.map(({ id, name }) => [id, name])),
    can_write: mayWrite(context),
  };
}

export const timelinePart = async (context: UiContext<'issue'>): Promise<Html> =>
  timeline(await loadTimeline(context));

export async function workingPart(context: UiContext<'issue'>): Promise<Html> {
  const { tx, subject, company_id, query } = context;
  const runs = await loadWorking(context);
  const agents = await agentsOf(tx, company_id, runs);
  return workingBar({ issue: subject, runs, agents, can_write: mayWrite(context) }, query.known ?? '');
}
