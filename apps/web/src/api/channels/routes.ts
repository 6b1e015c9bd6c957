import { channelEndpoints as rows } from '@acp/contract';
import {
  setMyNotifications,
  createChannel,
  deleteChannel,
  listChannelPeople,
  listChannels,
  createPairingCode,
  myChannels,
  presentChannel,
  removeChannelPerson,
  testChannel,
  unpair,
  updateChannel,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { requireUser } from '../../http/roles.ts';

export const channelRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listChannels(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) => createChannel(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.get, (c) => presentChannel(c.subject)),
  handle(rows.update, (c) => updateChannel(c.tx, c.actor, c.subject, c.body)),
  handle(rows.delete, (c) => deleteChannel(c.tx, c.actor, c.subject)),
  handle(rows.test, (c) => testChannel(c.tx, c.actor, c.subject)),
  handle(rows.listPeople, async (c) => paged(c, await listChannelPeople(c.tx, c.subject, c.query))),
  handle(rows.removePerson, (c) => removeChannelPerson(c.tx, c.actor, c.subject, c.params.userId!)),
  handle(rows.listMine, (c) => myChannels(c.tx, requireUser(c.actor))),
  handle(rows.pair, (c) => createPairingCode(c.tx, requireUser(c.actor), c.params.channelId!)),
  handle(rows.notify, (c) =>
    setMyNotifications(c.tx, requireUser(c.actor), c.params.channelId!, c.body.notify),
  ),
  handle(rows.unpair, (c) => unpair(c.tx, requireUser(c.actor), c.params.channelId!)),
];
