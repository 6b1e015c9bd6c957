/**
 * The Model Context Protocol: one stateless endpoint for both of its eras. Everything is done by the rows of the endpoint
 * table, with their permissions, scopes and checks.
 */
import { mcpEndpoints } from '@acp/contract';
import { ToolRegistry } from '@acp/core';
import type { Listener } from '@acp/db';
import type { Logger } from '@acp/kernel';
import { sendJson } from '../http/answer.ts';
import type { CallDeps } from '../http/call.ts';
import { handle, type Route } from '../http/handle.ts';
import { type MountedRow, prepareRow } from '../http/mounted-row.ts';
import type { RefusalDeps } from '../http/refusals.ts';
import { callerOf } from './caller.ts';
import { dispatch } from './dispatch.ts';
import { eraOf } from './era.ts';
import { listedProviders } from './listed-providers.ts';
import { readMessage } from '../json-rpc/messages.ts';
import { sendRpcError } from '../json-rpc/send-error.ts';

export interface McpDeps extends CallDeps, RefusalDeps {
  readonly logger: Logger;
  readonly listener?: Listener | undefined;
  readonly validate_responses: boolean;
}

/** @param routes the endpoints behind tools, resources and prompts */
export function mcpRoutes(routes: readonly Route[], deps: McpDeps): Route[] {
  const rows = new Map<string, MountedRow>();
  for (const route of routes) rows.set(route.row.id, prepareRow(route, deps.validate_responses));
  const outside = new ToolRegistry(listedProviders, deps.logger);
  if (deps.listener) outside.listenTo(deps.listener);
  return [
    handle(mcpEndpoints.call, async (context) => {
      const { request, response, body } = context;
      try {
        const message = readMessage(body);
        if (message === null) {
          response.statusCode = 202;
          response.end();
          return;
        }
        const era = eraOf(message, request.headers);
        const result = await dispatch(message, era, callerOf(context, rows, deps), outside);
        sendJson(response, 200, JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
      } catch (error) {
        sendRpcError(response, error, body);
      }
    }),
  ];
}
