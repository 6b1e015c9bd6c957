import type { Actor, OutgoingMessage } from '@acp/contract';
import type { Tx } from '@acp/db';
import { conflict, inWords, said } from '@acp/kernel';
import { recordInstanceAct } from '../activity/index.ts';
import { presentOutgoing, queueMessages } from '../messages/index.ts';
import { instanceName } from '../settings/index.ts';
import { type AlertTargets, operatorAddresses } from './queue-messages.ts';

/** Sends a test message to all targets of alerts. @throws conflict if none are configured */
export async function sendTestMessages(
  tx: Tx,
  actor: Actor,
  targets: AlertTargets,
): Promise<OutgoingMessage[]> {
  const name = await instanceName(tx, targets.public_url);
  const mails = targets.mail ? await operatorAddresses(tx, targets.mail_to) : [];
  const to = [
    ...targets.channels.map((channel) => ({ channel, recipient: '' })),
    ...mails.map((recipient) => ({ channel: 'mail' as const, recipient })),
  ];
  if (to.length === 0) throw conflict('no channel is set up: see SERVICE_SMTP_URL and SERVICE_ALERT_*');
  const text = said`This is a test: alerts of ${name} arrive here.`;
  const rows = await queueMessages(
    tx,
    to.map(({ channel, recipient }) => ({
      channel,
      purpose: 'test',
      recipient,
      subject: said`[${name}] ${said`A test`}`,
      body: [text, `${targets.public_url}/admin/alerts`],
      ...(channel === 'webhook' && { payload: { type: 'test', instance: name, message: inWords(text) } }),
    })),
  );
  await recordInstanceAct(tx, actor, 'alerts.tested', { channels: to.map(({ channel }) => channel) });
  return rows.map(presentOutgoing);
}
