/**
 * The Model Context Protocol: one stateless endpoint for both eras of it. Whatever it does is done by the rows of the
 * endpoint table, with their rights, scopes and checks.
 */
import { mcpEndpoints } from '@acp/contract';
import { ToolRegistry } from '@acp/core';
import type { Listener } from '@acp/db';
import { httpStatusOf, type Logger, notFound, type ServiceError } from '@acp/kernel';
import type { Response } from 'express';
import { act } from '../http/act.ts';
import { sendJson } from '../http/answer.ts';
import type { CallDeps } from '../http/call.ts';
import { publicError } from '../http/errors.ts';
import { type Context, handle, type Route } from '../http/handle.ts';
import { type MountedRow, prepareRow } from '../http/mounted-row.ts';
import type { RefusalDeps } from '../http/refusals.ts';
import { rpcCode } from '../http/row-errors.ts';
import { dispatch } from './dispatch.ts';
import { type Era, eraOf } from './era.ts';
import { idOf, readMessage, RpcError } from './protocol.ts';
import type { McpCaller } from './session.ts';
import { listedProviders } from './listed-providers.ts';

export interface McpDeps extends CallDeps, RefusalDeps {
  readonly logger: Logger;
  readonly listener?: Listener | undefined;
  readonly validate_responses: boolean;
}

/** @param routes what tools, resources and prompts are done by */
export function mcpRoutes(routes: readonly Route[], deps: McpDeps): Route[] {
  const rows = new Map<string, MountedRow>();
  for (const route of routes) rows.set(route.row.id, prepareRow(route, deps.validate_responses));
  const outside = new ToolRegistry(listedProviders, deps.logger);
  if (deps.listener) outside.listenTo(deps.listener);
  return [
    handle(mcpEndpoints.call, async (context) => {
      const { request, response, body } = context;
      let era: Era = 'sessions';
      try {
        const message = readMessage(body);
        if (message === null) {
          response.statusCode = 202;
          response.end();
          return;
        }
        era = eraOf(message, request.headers);
        const result = await dispatch(message, era, callerOf(context, rows, deps), outside);
        sendJson(response, 200, JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
      } catch (error) {
        sendRpcError(response, error, body);
      }
    }),
  ];
}

function callerOf(
  { actor, company_id, tx, services, request, response }: Context<typeof mcpEndpoints.call>,
  rows: ReadonlyMap<string, MountedRow>,
  deps: McpDeps,
): McpCaller {
  if (!('company_id' in actor)) throw notFound();
  return {
    actor,
    company_id,
    tx,
    services,
    async act(row, { params = {}, query = {}, body }) {
      const mounted = rows.get(row.id);
      if (mounted === undefined) throw notFound();
      return act(mounted, { actor, params, query: { ...query }, body }, { request, response }, deps);
    },
  };
}

/** An error of the protocol is an answer like any other. A defect is the error handler's, which logs it. */
function sendRpcError(response: Response, error: unknown, body: unknown): void {
  if (response.headersSent) throw error;
  const known = error instanceof RpcError ? error : asRpcError(publicError(error));
  if (known === null) throw error;
  const { code, message, data, status } = known;
  const text = { jsonrpc: '2.0', id: idOf(body) ?? null, error: { code, message, ...(data && { data }) } };
  sendJson(response, status, JSON.stringify(text));
}

/** Of an act behind a resource or a prompt: only that a dependency is away shows in the status too. */
function asRpcError(known: ServiceError | null): RpcError | null {
  if (known === null) return null;
  const { kind, message, extra } = known;
  const status = kind === 'unavailable' ? httpStatusOf(kind) : 200;
  return new RpcError(rpcCode(known, 'call'), message, { status, ...(extra && { data: extra }) });
}
