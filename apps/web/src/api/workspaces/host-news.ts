import type { repositoryWebhookEndpoints } from '@acp/contract';
import { noteHostNews, openHostNews } from '@acp/core';
import type { Context } from '../../http/handle.ts';

type Row = (typeof repositoryWebhookEndpoints)['receive'];

/** Verified outside of a transaction, so that strangers lock nothing. */
export async function receiveHostNews({ tx, params, request, body, services }: Context<Row>) {
  const sent = { body, header: (name: string) => request.get(name) };
  const news = await openHostNews(tx, params.hookId ?? '', sent, services.vault);
  const noted = await services.transaction(async (inner) => noteHostNews(inner, news));
  return { status: noted ? ('noted' as const) : ('ignored' as const) };
}
