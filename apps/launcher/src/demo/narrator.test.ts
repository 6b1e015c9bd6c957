import { expect, it } from '@jest/globals';
import { stripVTControlCharacters } from 'node:util';
import type { LiveEvent } from './client.ts';
import { Narrator } from './narrator.ts';

it('a stream that fails while nobody waits for it ends the narration, not the demo', async () => {
  const lines: string[] = [];
  const narrator = new Narrator([{ id: 'a', name: 'Ada' }], (line) =>
    lines.push(stripVTControlCharacters(line)),
  );
  async function* events(): AsyncGenerator<LiveEvent> {
    const run = { id: 'r', kind: 'chat_reply', agent_id: 'a', issue_id: null };
    yield await Promise.resolve({ id: '1', type: 'heartbeat_started', occurred_at: '', data: run });
    throw new Error('GET /api/live/events answered 401');
  }
  await narrator.follow(events());
  expect(lines).toEqual([
    expect.stringContaining('Ada  is asked something in a chat'),
    'What happens is no longer told here: Error: GET /api/live/events answered 401',
  ]);
});
