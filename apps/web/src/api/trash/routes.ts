import { trashEndpoints as rows } from '@acp/contract';
import { listTrash, purgeFromTrash, restoreFromTrash, type WantedEntry } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

const wanted = ({ params }: { params: Readonly<Record<string, string>> }): WantedEntry => ({
  type: params.type!,
  entity_id: params.entityId!,
  trash_id: params.trashId!,
});

export const trashRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listTrash(c.tx, c.query))),
  handle(rows.restore, (c) => restoreFromTrash(c.tx, c.actor, wanted(c))),
  handle(rows.purge, (c) => purgeFromTrash(c.tx, c.actor, wanted(c))),
];
