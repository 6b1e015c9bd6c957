import { adminEndpoints, liveEndpoints as rows, parseTopics } from '@acp/contract';
import { invalid } from '@acp/kernel';
import type { Request } from 'express';
import { chatStreamRoutes } from '../chats/stream-routes.ts';
import { handle, type Route } from '../http/handle.ts';
import { openEventStream, sinkOf } from './event-stream.ts';
import { positionFrame } from './frames.ts';
import type { LiveHub } from './hub.ts';
import type { Sink } from './subscriber.ts';

/** `Last-Event-ID` of a reconnecting browser, else `?after=`; null: start with new events. */
function positionOf(request: Request, after: number | undefined): number | null {
  const header = request.get('last-event-id');
  if (header === undefined || header === '') return after ?? null;
  if (!/^\d{1,15}$/.test(header)) throw invalid('Last-Event-ID is not a sequence number');
  return Number(header);
}

/** All routes that stream by way of the hub. */
export function liveRoutes(hub: LiveHub): Route[] {
  return [
    handle(rows.stream, async ({ actor, query, request, response }) => {
      const after = positionOf(request, query.after);
      const sink = sinkOf(response);
      let open = false;
      const lazySink: Sink = {
        ...sink,
        write: (text) => {
          if (!open) openEventStream(response);
          open = true;
          sink.write(text);
        },
        position: (seq) => sink.write(positionFrame(seq)),
      };
      const subscriber = await hub.subscribe(
        { actor, only: query.company_id ?? null, topics: parseTopics(query.topic), sink: lazySink },
        after,
      );
      response.on('close', () => hub.unsubscribe(subscriber));
      // HEAD only shows that the stream would be granted.
      if (response.destroyed || request.method === 'HEAD') hub.unsubscribe(subscriber);
    }),
    handle(adminEndpoints.streamMetrics, async () => ({
      streams: hub.size,
      companies: await hub.counters(),
    })),
    ...chatStreamRoutes(hub),
  ];
}
