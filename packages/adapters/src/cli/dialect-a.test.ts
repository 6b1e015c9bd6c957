import { expect, it } from '@jest/globals';
import { collector } from '@acp/kernel';
import { dialectA } from './dialect-a.ts';

const killed = { code: null, signal: 'SIGKILL', stderr: '' } as const;

function readerOf() {
  return dialectA.reader({
    model: 'fast',
    resume: null,
    permissions: 'read',
    walled: true,
    temp_dir: '/tmp',
    prompt_length: 10,
    retries: 0,
  });
}

const call = (id: string, input_tokens: number) => ({
  type: 'assistant',
  message: { id, usage: { input_tokens, cache_read_input_tokens: 1 }, content: [] },
});

it('a run that was interrupted after thousands of calls has the input of each, as it was reported last', () => {
  const reader = readerOf();
  for (let n = 0; n < 5000; n += 1) {
    // A line for each part of the message.
    expect([...reader.read(call(`msg_${n}`, 3)), ...reader.read(call(`msg_${n}`, 9))]).toEqual([]);
  }
  expect(reader.finish(killed).usage).toMatchObject([{ input_tokens: 50_000, cached_tokens: 5000 }]);
});

it('a program that invents messages for as long as it runs is remembered by none of them', () => {
  const reader = readerOf();
  const used = (): number => {
    collector()({ type: 'major', execution: 'sync' });
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  for (let n = 0; n < 3000; n += 1)
    for (const line of [call(`${n} ${'x'.repeat(20_000)}`, 3), call(`${n}`, 3)])
      expect([...reader.read(JSON.parse(JSON.stringify(line)) as Record<string, unknown>)]).toEqual([]);
  const more = used() - before;
  const { usage } = reader.finish(killed);
  expect(more).toBeLessThan(15_000_000);
  expect(usage).toMatchObject([{ input_tokens: 3000 * 4, usage_missing: true }]);
});
