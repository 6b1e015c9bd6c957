import { backupEndpoints as rows } from '@acp/contract';
import { pageOfBackups, requestBackup } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const backupRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await pageOfBackups(c.tx, c.query))),
  handle(rows.request, (c) => requestBackup(c.tx, c.actor)),
];
