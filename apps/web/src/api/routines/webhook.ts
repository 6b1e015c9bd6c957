import type { routineTriggerEndpoints } from '@acp/contract';
import { fireWebhook, openWebhook, webhookAnswer } from '@acp/core';
import type { Context } from '../../http/handle.ts';

type Row = (typeof routineTriggerEndpoints)['firePublic'];

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
  const fired = await services.transaction(async (inner) => fireWebhook(inner, opened, body));
  return webhookAnswer(fired);
}
