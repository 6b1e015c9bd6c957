import { secretEndpoints as rows } from '@acp/contract';
import { createSecret, deleteSecret, listSecrets, updateSecret } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const secretRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listSecrets(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) => createSecret(c.tx, c.actor, c.company_id, c.body, c.services.vault)),
  handle(rows.update, (c) => updateSecret(c.tx, c.actor, c.subject, c.body, c.services.vault)),
  handle(rows.delete, (c) => deleteSecret(c.tx, c.actor, c.subject)),
];
