import { credentialEndpoints as rows } from '@acp/contract';
import { findUser, listCredentials } from '@acp/core';
import { notFound } from '@acp/kernel';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const credentialRoutes: Route[] = [
  // Someone who has left may have left something behind: of a stranger the list is empty, and nothing more is disclosed.
  handle(rows.ofMember, async (c) =>
    paged(c, await listCredentials(c.tx, c.params.userId!, c.company_id, c.query)),
  ),
  handle(rows.ofUser, async (c) => {
    const user_id = c.params.userId!;
    const made = await listCredentials(c.tx, user_id, null, c.query);
    if (made.items.length === 0 && !(await findUser(c.tx, user_id))) throw notFound();
    return paged(c, made);
  }),
];
