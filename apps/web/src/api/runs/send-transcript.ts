/** A run's transcript as a file: one line of JSON per entry, read from the database as fast as the client reads. */
import type { Actor } from '@acp/contract';
import { listRunEvents } from '@acp/core';
import type { Tx } from '@acp/db';
import type { Request, Response } from 'express';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const PAGE = 1000;
/** A client that reads nothing for this long has left. */
const IDLE_MS = 60_000;

interface Reader {
  tx: Tx;
  actor: Actor;
  request: Request;
  response: Response;
}

export async function sendTranscript(
  { tx, actor, request, response }: Reader,
  { id }: { id: string },
): Promise<void> {
  response.attachment(`run-${id}.jsonl`);
  response.setHeader('Content-Type', 'application/x-ndjson; charset=utf-8');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  if (request.method === 'HEAD') return void response.end();
  response.setTimeout(IDLE_MS, () => response.destroy());
  // A client that leaves midway keeps what it has.
  await pipeline(Readable.from(linesOf(tx, actor, id)), response).catch(() => response.destroy());
}

async function* linesOf(tx: Tx, actor: Actor, run_id: string): AsyncGenerator<string> {
  for (let after = 0; ;) {
    const entries = await listRunEvents(tx, actor, run_id, { after, limit: PAGE });
    const last = entries.at(-1);
    if (last === undefined) return;
    yield `${entries.map((entry) => JSON.stringify(entry)).join('\n')}\n`;
    after = last.seq;
  }
}
