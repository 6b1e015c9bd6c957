import { documentEndpoints as rows } from '@acp/contract';
import { findDocument, listDocuments, listRevisions, putDocument, restoreRevision } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const documentRoutes: Route[] = [
  handle(rows.list, async (c) => {
    const page = await listDocuments(c.tx, c.subject, c.query);
    c.nextPage(page.next_cursor);
    return page.items;
  }),
  handle(rows.put, (c) => putDocument(c.tx, c.actor, c.subject, c.params.key!, c.body)),
  handle(rows.get, (c) => findDocument(c.tx, c.subject, c.params.key!)),
  handle(rows.revisions, async (c) => {
    const page = await listRevisions(c.tx, c.subject, c.params.key!, c.query);
    c.nextPage(page.next_cursor);
    return page.items;
  }),
  handle(rows.restore, (c) => restoreRevision(c.tx, c.actor, c.subject, c.params.key!, c.params.revisionId!)),
];
