import { federationEndpoints as rows, pushEndpoints as pushes } from '@acp/contract';
import {
  createPeer,
  deletePeer,
  findPeer,
  listDelegations,
  listPeerCalls,
  listPeers,
  listPushDeliveries,
  presentPeer,
  takeNotification,
  updatePeer,
} from '@acp/core';
import { notFound } from '@acp/kernel';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const federationRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listPeers(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) => createPeer(c.tx, c.actor, c.company_id, c.body, c.services.vault)),
  handle(rows.get, (c) => presentPeer(c.subject)),
  handle(rows.update, (c) => updatePeer(c.tx, c.actor, c.subject, c.body, c.services.vault)),
  handle(rows.delete, (c) => deletePeer(c.tx, c.actor, c.subject)),
  handle(rows.refresh, async ({ tx, actor, company_id, subject, services }) => {
    await services.command('refresh-peer', { peer_id: subject.id }, { actor, company_id });
    const peer = await findPeer(tx, subject.id);
    if (peer === undefined) throw notFound();
    return presentPeer(peer);
  }),
  handle(rows.listDelegations, async (c) => paged(c, await listDelegations(c.tx, c.subject, c.query))),
  handle(rows.listCalls, async (c) => paged(c, await listPeerCalls(c.tx, c.subject, c.query))),
  handle(pushes.listDeliveries, async (c) => paged(c, await listPushDeliveries(c.tx, c.company_id, c.query))),
  handle(pushes.notify, async ({ tx, params, request, body, services }) => {
    const notification = {
      body,
      token: request.get('X-A2A-Notification-Token'),
      signature: request.get('X-Service-Signature'),
      timestamp: request.get('X-Service-Timestamp'),
    };
    await takeNotification(tx, params.issueId ?? '', notification, services.vault);
  }),
];
