import type { routineTriggerEndpoints } from '@acp/contract';
import { fireWebhook, openWebhook, webhookAnswer } from '@acp/core';
import { CompanyTurns } from '../../http/company-turns.ts';
import type { Context } from '../../http/handle.ts';
import { QUEUE_MS } from '../../http/tier-connections.ts';

type Row = (typeof routineTriggerEndpoints)['firePublic'];

/** Fires of a routine wait for each other, and issues of a company for its next number. */
const turns = new CompanyTurns({ at_once: 2, waiting: 100, wait_ms: QUEUE_MS });

/**
 * Handles a webhook request. The signature is verified outside of a transaction, so that strangers lock nothing; a failed
 * fire is answered after its record is committed.
 */
export async function receiveWebhook({ tx, params, request, body, services }: Context<Row>) {
  const signed = {
    body,
    signature: request.get('X-Service-Signature'),
    timestamp: request.get('X-Service-Timestamp'),
  };
  const opened = await openWebhook(tx, params.publicId ?? '', signed, services.vault);
  const fired = await turns.take(opened.trigger.company_id, async () =>
    services.change(opened.trigger.company_id, async (inner) => fireWebhook(inner, opened, body)),
  );
  return webhookAnswer(fired);
}
