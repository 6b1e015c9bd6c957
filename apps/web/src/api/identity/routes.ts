import { identityEndpoints as rows } from '@acp/contract';
import {
  changeInstanceRole,
  deleteUser,
  enrolUser,
  findUser,
  hashSentPassword,
  listUsers,
  presentMe,
  presentUser,
  presentUserRole,
  readPreferences,
  resetPassword,
  updatePreferences,
  updateUser,
} from '@acp/core';
import { notFound, unauthenticated } from '@acp/kernel';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { requireUser } from '../../http/roles.ts';
import { changeOwnPassword, updateOwnRecord } from './own-account.ts';

export const identityRoutes: Route[] = [
  handle(rows.me, async ({ tx, actor }) => {
    const user = await findUser(tx, requireUser(actor).user_id);
    if (!user) throw unauthenticated('not authenticated as user');
    return presentMe(user);
  }),
  handle(rows.updateMe, (c) => updateOwnRecord(c.tx, c.services, requireUser(c.actor), c.body)),
  handle(rows.preferences, (c) => readPreferences(c.tx, requireUser(c.actor))),
  handle(rows.updatePreferences, (c) => updatePreferences(c.tx, requireUser(c.actor), c.body)),
  handle(rows.changePassword, async (c) => {
    await changeOwnPassword(c.tx, c.services, requireUser(c.actor), c.body);
    return { message: 'password changed' };
  }),
  handle(rows.listUsers, async (c) => paged(c, await listUsers(c.tx, c.query, presentUser))),
  handle(
    rows.createUser,
    (c, password_hash: string) => {
      const { email, display_name, instance_role = 'member' } = c.body;
      return enrolUser(c.tx, c.actor, { email, display_name, password_hash, instance_role });
    },
    (c) => hashSentPassword(c.tx, c.body.password, [c.body.email, c.body.display_name]),
  ),
  handle(rows.getUser, async (c) => {
    const user = await findUser(c.tx, c.params.userId!);
    if (!user) throw notFound();
    return presentUser(user);
  }),
  handle(rows.updateUser, (c) => updateUser(c.tx, c.actor, c.params.userId!, c.body, c.services.mailing)),
  handle(rows.deleteUser, (c) => deleteUser(c.tx, c.actor, c.params.userId!, c.query)),
  handle(rows.resetPassword, async (c) => {
    const password_hash = await hashSentPassword(c.tx, c.body.new_password);
    await c.services.transaction((tx) =>
      resetPassword(tx, c.actor, c.params.userId!, password_hash, c.services.mailing),
    );
    return { message: 'password reset' };
  }),
  handle(rows.listInstanceRoles, async (c) => paged(c, await listUsers(c.tx, c.query, presentUserRole))),
  handle(rows.changeInstanceRole, (c) => changeInstanceRole(c.tx, c.actor, c.params.userId!, c.body)),
];
