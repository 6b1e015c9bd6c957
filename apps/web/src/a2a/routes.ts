/** The agent-to-agent protocol: public cards, and one endpoint of each externally available agent for both dialects. */
import { a2aEndpoints as rows } from '@acp/contract';
import { availableAgent, availableAgents } from '@acp/core';
import { notFound } from '@acp/kernel';
import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { isHeld } from '../http/entity-tag.ts';
import { type Context, handle, type Route } from '../http/handle.ts';
import { malformed, METHOD_NOT_FOUND, readMessage, RpcError } from '../json-rpc/messages.ts';
import { errorMessage, knownError, sendRpcError } from '../json-rpc/send-error.ts';
import type { LiveHub } from '../live/hub.ts';
import { openEventStream } from '../live/event-stream.ts';
import { callerOf } from './caller.ts';
import { cardOfAgent, directoryCard, placeOf } from './cards.ts';
import { dispatch } from './dispatch.ts';
import { type Method, methods, requireVersion } from './protocol.ts';

interface A2aDeps {
  /** Notifies of changes; without it nothing waits and streams are refused. */
  hub?: LiveHub | undefined;
  /** Maximum time that a send waits for the task to rest. */
  wait_sec: number;
}

const VERSION_HEADER = 'a2a-version';

export function a2aRoutes({ hub, wait_sec }: A2aDeps): Route[] {
  return [
    handle(rows.directory, async (context) => {
      const { tx, params, services, request } = context;
      const found = await availableAgents(tx, params.companyId!);
      if (found === undefined) throw notFound();
      return card(context, directoryCard(found, placeOf(services), request.get(VERSION_HEADER)));
    }),
    handle(rows.card, async (context) => {
      const { tx, params, services, request } = context;
      const agent = await availableAgent(tx, params.companyId!, params.agentId!);
      if (agent === undefined) throw notFound();
      return card(context, cardOfAgent(agent, placeOf(services), request.get(VERSION_HEADER)));
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
        await dispatch(caller, message, method, wait_sec * 1000);
      } catch (error) {
        if (method?.act === 'stream' || method?.act === 'subscribe') endStream(request, response, error);
        else sendRpcError(response, inAnswer(error), body);
      }
    }),
  ];
}

/** Protocol errors are ordinary answers here, with HTTP status 200: clients read no other body. */
const inAnswer = (error: unknown): unknown =>
  error instanceof RpcError && error.status === 400
    ? new RpcError(error.code, error.message, { data: error.data })
    : error;

type CardContext = Pick<Context<typeof rows.card>, 'request' | 'response' | 'status'>;

/** Clients poll cards: answers 304 if the client's copy is current. */
function card(context: CardContext, value: object): Record<string, unknown> | undefined {
  const { request, response } = context;
  const digest = createHash('sha256').update(JSON.stringify(value)).digest('base64url');
  response.setHeader('Vary', 'A2A-Version');
  response.setHeader('Cache-Control', 'public, max-age=60');
  const etag = `"${digest.slice(0, 27)}"`;
  response.setHeader('ETag', etag);
  if (!isHeld(request, etag)) return { ...value };
  context.status(304);
  return undefined;
}

/** Clients that want a stream read errors from one. Defects go to the error handler, which logs them. */
function endStream(request: Request, response: Response, error: unknown): void {
  const known = knownError(error);
  if (known === null) throw error;
  if (response.destroyed) return;
  if (!response.headersSent) openEventStream(response);
  response.end(`data: ${JSON.stringify(errorMessage(known, request.body))}\n\n`);
}
