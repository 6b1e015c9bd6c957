import type { Actor } from '@acp/contract';
import { listRunEvents } from '@acp/core';
import type { Tx } from '@acp/db';
import type { Request, Response } from 'express';
import { sendLines } from '../../http/send-lines.ts';

const PAGE = 1000;

interface Reader {
  tx: Tx;
  actor: Actor;
  request: Request;
  response: Response;
}

/** A run's transcript as a file: one line of JSON per entry. */
export async function sendTranscript(reader: Reader, { id }: { id: string }): Promise<void> {
  const file = { filename: `run-${id}.jsonl`, type: 'application/x-ndjson' };
  await sendLines(reader, file, linesOf(reader.tx, reader.actor, id));
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
