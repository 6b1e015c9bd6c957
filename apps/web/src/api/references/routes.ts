/** Plain text for agents that set up agents (specification, Instance administration). */
import {
  adapterConfigurationText,
  agentConfigurationText,
  agentIconsText,
  isAdapterType,
  referenceEndpoints as rows,
} from '@acp/contract';
import { notFound } from '@acp/kernel';
import type { Response } from 'express';
import { handle, type Route } from '../../http/handle.ts';

export const referenceRoutes: Route[] = [
  handle(rows.agentConfiguration, ({ response }) => sendText(response, agentConfigurationText())),
  handle(rows.adapterConfiguration, ({ params, response }) => {
    // A path parameter matches a whole segment, including its extension.
    const [, type = ''] = /^(.+)\.txt$/.exec(params.adapterType!) ?? [];
    if (!isAdapterType(type)) throw notFound();
    sendText(response, adapterConfigurationText(type));
  }),
  handle(rows.agentIcons, ({ response }) => sendText(response, agentIconsText())),
];

function sendText(response: Response, text: string): void {
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.end(text);
}
