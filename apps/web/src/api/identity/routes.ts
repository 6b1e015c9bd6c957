import { identityEndpoints as rows } from '@acp/contract';
import { findUser, presentMe } from '@acp/core';
import { unauthenticated } from '@acp/kernel';
import { handle, type Route } from '../../http/handle.ts';

export const identityRoutes: Route[] = [
  handle(rows.me, async ({ tx, actor }) => {
    const user = actor.kind === 'user' ? await findUser(tx, actor.user_id) : undefined;
    if (!user) throw unauthenticated('not authenticated as user');
    return presentMe(user);
  }),
];
