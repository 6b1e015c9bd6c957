import type { repositoryWebhookEndpoints } from '@acp/contract';
import { handleHostEvent, verifyHostEvent } from '@acp/core';
import type { Context } from '../../http/handle.ts';

type Row = (typeof repositoryWebhookEndpoints)['receive'];

/** Verified outside of a transaction, so that strangers lock nothing. */
export async function receiveHostEvent({ tx, params, request, body, services }: Context<Row>) {
  const sent = { body, header: (name: string) => request.get(name) };
  const event = await verifyHostEvent(tx, params.hookId ?? '', sent, services.vault);
  const noted = await services.change(event.company_id, async (inner) => handleHostEvent(inner, event));
  return { status: noted ? ('noted' as const) : ('ignored' as const) };
}
