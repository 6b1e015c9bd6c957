import { chatEndpoints as rows, type ChatMessage } from '@acp/contract';
import { findChatMessage, postChatMessage, presentMessage } from '@acp/core';
import { notFound } from '@acp/kernel';
import { handle, type Context, type Route } from '../http/handle.ts';
import type { LiveHub } from '../live/hub.ts';
import { openEventStream, sinkOf } from '../live/event-stream.ts';
import { END, frameId, parseFrameId, type Place } from './frame-id.ts';
import { ReplyStream } from './reply-stream.ts';

type StreamContext = Context<typeof rows.stream> | Context<typeof rows.follow>;

const beginning = (message_id: string): Place => ({ message_id, run_id: null, seq: 0, part: 0 });

export function chatStreamRoutes(hub: LiveHub): Route[] {
  return [
    handle(rows.stream, async (context) => {
      const { actor, company_id, subject, body, files, services, request } = context;
      const place = parseFrameId(request.get('last-event-id'));
      if (place !== null) return resume(hub, context, place);
      const message = await services.change(company_id, async (tx) =>
        postChatMessage(tx, actor, subject, body, files),
      );
      return begin(hub, context, message);
    }),
    handle(rows.follow, async (context) => {
      const { tx, subject, params, request, response } = context;
      const message = await findChatMessage(tx, subject, params.messageId ?? '');
      if (message?.role !== 'user') throw notFound();
      const place = parseFrameId(request.get('last-event-id'));
      if (place?.message_id === message.id) return resume(hub, context, place);
      if (request.method === 'HEAD') return void openEventStream(response).end();
      return begin(hub, context, presentMessage(message));
    }),
  ];
}

async function begin(hub: LiveHub, context: StreamContext, message: ChatMessage): Promise<void> {
  openEventStream(context.response);
  const id = frameId(beginning(message.id));
  context.response.write(`id: ${id}\nevent: message\ndata: ${JSON.stringify(message)}\n\n`);
  await follow(hub, context, beginning(message.id));
}

async function resume(hub: LiveHub, context: StreamContext, place: Place): Promise<void> {
  const { tx, subject, response } = context;
  if ((await findChatMessage(tx, subject, place.message_id)) === undefined) throw notFound();
  // Without a 204 a browser reconnects even after the last frame.
  if (place.seq === END) return void response.status(204).end();
  openEventStream(response);
  await follow(hub, context, place);
}

async function follow(
  hub: LiveHub,
  { tx, actor, subject, response }: StreamContext,
  from: Place,
): Promise<void> {
  // Whoever has left by now would not be heard closing the stream.
  if (response.destroyed) return;
  const stream = new ReplyStream({ tx, hub, actor, chat: subject, from, sink: sinkOf(response) });
  response.on('close', () => stream.close());
  await stream.open();
}
