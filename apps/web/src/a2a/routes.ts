/** The agent-to-agent protocol: public cards, and one endpoint of each externally available agent for both dialects. */
import { a2aEndpoints as rows } from '@acp/contract';
import { availableAgent, availableAgents } from '@acp/core';
import { notFound } from '@acp/kernel';
import type { Request, Response } from 'express';
import { sendJson } from '../http/answer.ts';
import { handle, type Route } from '../http/handle.ts';
import { malformed, METHOD_NOT_FOUND, readMessage, RpcError, type RpcRequest } from '../json-rpc/messages.ts';
import { errorMessage, knownError, sendRpcError } from '../json-rpc/send-error.ts';
import type { LiveHub } from '../live/hub.ts';
import { openStream } from '../live/routes.ts';
import { cancel, getTask, listAll, send } from './acts.ts';
import { type A2aCaller, callerOf } from './caller.ts';
import { cardOfAgent, directoryCard } from './cards.ts';
import { type Method, methods, refused, requireVersion } from './protocol.ts';
import { streamMessage, subscribe } from './streams.ts';

interface A2aDeps {
  /** Tells of changes; without it nothing is waited for, and streams are refused. */
  hub?: LiveHub | undefined;
  /** How long a send may wait for the task to rest. */
  wait_sec: number;
}

const VERSION_HEADER = 'a2a-version';

export function a2aRoutes({ hub, wait_sec }: A2aDeps): Route[] {
  return [
    handle(rows.directory, async ({ tx, params, services, request, response }) => {
      const found = await availableAgents(tx, params.companyId!);
      if (found === undefined) throw notFound();
      return card(response, directoryCard(found, services.public_url, request.get(VERSION_HEADER)));
    }),
    handle(rows.card, async ({ tx, params, services, request, response }) => {
      const agent = await availableAgent(tx, params.companyId!, params.agentId!);
      if (agent === undefined) throw notFound();
      return card(response, cardOfAgent(agent, services.public_url, request.get(VERSION_HEADER)));
    }),
    handle(rows.call, async (context) => {
      const { request, response, body } = context;
      const caller = await callerOf(context, hub ?? null);
      let method: Method | undefined;
      try {
        const message = readMessage(body);
        if (message === null) throw malformed('id is required: there are no notifications');
        requireVersion(request.get(VERSION_HEADER));
        method = methods.get(message.method);
        if (method === undefined) throw new RpcError(METHOD_NOT_FOUND, 'method not found');
        await answer(caller, message, method, wait_sec * 1000);
      } catch (error) {
        if (method?.act === 'stream' || method?.act === 'subscribe') endStream(request, response, error);
        else sendRpcError(response, error, body);
      }
    }),
  ];
}

function card(response: Response, value: object) {
  response.setHeader('Vary', 'A2A-Version');
  response.setHeader('Cache-Control', 'public, max-age=60');
  return { ...value };
}

async function answer(
  caller: A2aCaller,
  message: RpcRequest,
  { act, dialect }: Method,
  wait_ms: number,
): Promise<void> {
  const { params } = message;
  const tell = (result: object) =>
    sendJson(caller.response, 200, JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
  switch (act) {
    case 'send':
      return tell(await send(caller, params, dialect, wait_ms));
    case 'get':
      return tell(await getTask(caller, params, dialect));
    case 'list':
      return tell(await listAll(caller, params, dialect));
    case 'cancel':
      return tell(await cancel(caller, params, dialect));
    case 'stream':
      return streamMessage(caller, message, dialect);
    case 'subscribe':
      return subscribe(caller, message, dialect);
    case 'extended_card':
      throw refused('no_extended_card', 'there is no extended card');
  }
}

/** Clients that want a stream read errors from one. A defect is the error handler's, which logs it. */
function endStream(request: Request, response: Response, error: unknown): void {
  const known = knownError(error);
  if (known === null) throw error;
  if (response.destroyed) return;
  if (!response.headersSent) openStream(response);
  response.end(`data: ${JSON.stringify(errorMessage(known, request.body))}\n\n`);
}
