import { inviteEndpoints as rows } from '@acp/contract';
import {
  acceptInvite,
  createInvite,
  inviteByMail,
  listInvites,
  listJoinRequests,
  requestToJoin,
  resolveJoinRequest,
  revokeInvite,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { requireUser, roleIn } from '../../http/roles.ts';

export const inviteRoutes: Route[] = [
  handle(rows.list, async (c) => {
    const vault = roleIn(c.actor, c.company_id) === 'admin' ? c.services.vault : null;
    return paged(c, await listInvites(c.tx, c.company_id, c.query, vault));
  }),
  handle(rows.create, (c) => {
    const { email, ...invite } = c.body;
    const { mailing, vault } = c.services;
    return email
      ? inviteByMail(c.tx, c.actor, c.company_id, { ...invite, email }, mailing)
      : createInvite(c.tx, c.actor, c.company_id, invite, vault);
  }),
  handle(rows.revoke, (c) => revokeInvite(c.tx, c.actor, c.company_id, c.params.inviteId!)),
  handle(rows.accept, (c) => acceptInvite(c.tx, requireUser(c.actor), c.params.token!)),
  handle(rows.listJoinRequests, async (c) => paged(c, await listJoinRequests(c.tx, c.company_id, c.query))),
  handle(rows.requestToJoin, async (c) => {
    const { request, created } = await requestToJoin(c.tx, requireUser(c.actor), c.body);
    c.status(created ? 201 : 200);
    return request;
  }),
  handle(rows.resolveJoinRequest, (c) => resolveJoinRequest(c.tx, c.actor, c.subject, c.body.status)),
];
