import { federationEndpoints as rows } from '@acp/contract';
import { createPeer, deletePeer, findPeer, listPeers, presentPeer, updatePeer } from '@acp/core';
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
];
