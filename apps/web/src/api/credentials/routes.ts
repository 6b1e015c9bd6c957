import { credentialEndpoints as rows } from '@acp/contract';
import { findUser, isMember, listCredentials } from '@acp/core';
import { isUuid, notFound } from '@acp/kernel';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const credentialRoutes: Route[] = [
  // Someone who is not a member any more may have left something behind.
  handle(rows.ofMember, async (c) => {
    const user_id = c.params.userId!;
    const made = await listCredentials(c.tx, user_id, c.company_id, c.query);
    if (made.items.length === 0 && !(isUuid(user_id) && (await isMember(c.tx, c.company_id, user_id))))
      throw notFound();
    return paged(c, made);
  }),
  handle(rows.ofUser, async (c) => {
    const user_id = c.params.userId!;
    const made = await listCredentials(c.tx, user_id, null, c.query);
    if (made.items.length === 0 && !(await findUser(c.tx, user_id))) throw notFound();
    return paged(c, made);
  }),
];
