import {
  repositoryWebhookEndpoints as hooks,
  workspaceActionEndpoints as actions,
  workspaceEndpoints as rows,
} from '@acp/contract';
import {
  createRepositoryWebhook,
  createReviewComment,
  deleteRepositoryWebhook,
  deleteReviewComment,
  listChangedFiles,
  listCommits,
  listDiffs,
  listReviewComments,
  listWorkspaceActions,
  presentWorkspace,
  repositoryWebhookOf,
  requestWorkspaceAction,
  reviewWorkspace,
  updateReviewComment,
  workspaceOf,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { receiveHostEvent } from './host-event.ts';

export const workspaceRoutes: Route[] = [
  handle(rows.get, async (c) => presentWorkspace(await workspaceOf(c.tx, c.subject))),
  handle(rows.files, async (c) =>
    paged(c, await listChangedFiles(c.tx, await workspaceOf(c.tx, c.subject), c.query)),
  ),
  handle(rows.diff, async (c) =>
    paged(c, await listDiffs(c.tx, await workspaceOf(c.tx, c.subject), c.query)),
  ),
  handle(rows.commits, async (c) =>
    paged(c, await listCommits(c.tx, await workspaceOf(c.tx, c.subject), c.query)),
  ),
  handle(rows.review, (c) => reviewWorkspace(c.tx, c.actor, c.subject, c.body)),
  handle(rows.listComments, async (c) => paged(c, await listReviewComments(c.tx, c.subject, c.query))),
  handle(rows.createComment, (c) => createReviewComment(c.tx, c.actor, c.subject, c.body)),
  handle(rows.updateComment, (c) => updateReviewComment(c.tx, c.actor, c.subject, c.body)),
  handle(rows.deleteComment, (c) => deleteReviewComment(c.tx, c.actor, c.subject)),
  handle(actions.list, async (c) => paged(c, await listWorkspaceActions(c.tx, c.subject, c.query))),
  handle(actions.push, (c) => requestWorkspaceAction(c.tx, c.actor, c.subject, 'push')),
  handle(actions.openPullRequest, (c) =>
    requestWorkspaceAction(c.tx, c.actor, c.subject, 'open_pull_request', c.body),
  ),
  handle(actions.merge, (c) => requestWorkspaceAction(c.tx, c.actor, c.subject, 'merge', c.body)),
  handle(hooks.get, (c) => repositoryWebhookOf(c.tx, c.subject)),
  handle(hooks.create, (c) => createRepositoryWebhook(c.tx, c.actor, c.subject, c.services.vault)),
  handle(hooks.delete, (c) => deleteRepositoryWebhook(c.tx, c.actor, c.subject)),
  handle(hooks.receive, (c) => receiveHostEvent(c)),
];
