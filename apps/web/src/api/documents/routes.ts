import { documentEndpoints as rows } from '@acp/contract';
import { findDocument, listDocuments, listRevisions, putDocument, restoreRevision } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const documentRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listDocuments(c.tx, c.subject, c.query))),
  handle(rows.put, (c) => putDocument(c.tx, c.actor, c.subject, c.params.key!, c.body)),
  handle(rows.get, (c) => findDocument(c.tx, c.subject, c.params.key!)),
  handle(rows.revisions, async (c) => paged(c, await listRevisions(c.tx, c.subject, c.params.key!, c.query))),
  handle(rows.restore, (c) => restoreRevision(c.tx, c.actor, c.subject, c.params.key!, c.params.revisionId!)),
];
