import { alertEndpoints as rows } from '@acp/contract';
import {
  acknowledgeAlert,
  findAnyAlert,
  listAlerts,
  listOutgoing,
  muteAlert,
  sendTestMessages,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const alertRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listAlerts(c.tx, null, c.query))),
  handle(rows.listOfCompany, async (c) => paged(c, await listAlerts(c.tx, c.company_id, c.query))),
  handle(rows.acknowledgeAny, async (c) =>
    acknowledgeAlert(c.tx, c.actor, await findAnyAlert(c.tx, c.params.alertId!)),
  ),
  handle(rows.muteAny, async (c) =>
    muteAlert(c.tx, c.actor, await findAnyAlert(c.tx, c.params.alertId!), c.body.hours),
  ),
  handle(rows.acknowledge, (c) => acknowledgeAlert(c.tx, c.actor, c.subject)),
  handle(rows.mute, (c) => muteAlert(c.tx, c.actor, c.subject, c.body.hours)),
  handle(rows.recent, (c) => c.services.alerts?.list(() => true) ?? []),
  handle(rows.test, (c) => sendTestMessages(c.tx, c.actor, c.services.alert_targets)),
  handle(rows.listMessages, async (c) => paged(c, await listOutgoing(c.tx, c.query))),
];
