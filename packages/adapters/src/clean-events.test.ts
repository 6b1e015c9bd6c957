import { afterEach, describe, expect, it } from '@jest/globals';
import { createGuardedFetch } from '@acp/kernel';
import { type FakeModel, type FakeModelReply, startFakeModel, waitFor } from '@acp/testkit';
import { cleanEvents } from './clean-events.ts';
import { type AdapterEvent, type AdapterTask, callLimit, execute } from './index.ts';

let model: FakeModel | undefined;
afterEach(async () => model?.close());

const MAX_OUTPUT = 100;

async function events(reply: FakeModelReply): Promise<{ task: AdapterTask; events: AdapterEvent[] }> {
  model = await startFakeModel({ script: () => reply });
  const fetch = createGuardedFetch({ egress: 'any' });
  const task: AdapterTask = {
    run_id: 'run',
    adapter_type: 'llm',
    provider: { family: 'family_compat', api_key: 'key', base_url: model.url, fetch },
    model: 'test-model',
    system_prompt: 'Be brief.',
    messages: [{ role: 'user', content: 'x'.repeat(391) }],
    max_output_tokens: MAX_OUTPUT,
    timeouts: { idle_sec: 10, total_sec: 10 },
    adapter_config: {},
  };
  const seen: AdapterEvent[] = [];
  for await (const event of execute(task, new AbortController().signal)) seen.push(event);
  return { task, events: seen };
}

const usageOf = (seen: AdapterEvent[]) => seen.filter((event) => event.kind === 'usage');
const lengthOf = (seen: AdapterEvent[]) =>
  seen.reduce((sum, event) => sum + (event.kind === 'output' ? event.text.length : 0), 0);

describe('a model that reports', () => {
  it.each([-1, 0.5, 2 ** 31, 1e21, 1e308])(
    '%p tokens is booked by the estimate, never for free',
    async (n) => {
      const text = 'y'.repeat(80);
      for (const usage of [
        { input_tokens: n, output_tokens: 5 },
        { input_tokens: 5, output_tokens: n },
      ]) {
        const seen = await events({ text, usage });
        expect(usageOf(seen.events)).toEqual([
          {
            kind: 'usage',
            model: 'test-model',
            input_tokens: 100,
            output_tokens: 20,
            cached_tokens: 0,
            usage_missing: true,
          },
        ]);
        await model?.close();
      }
    },
  );

  it('more cached tokens than were read, or less than none, has no say in the price', async () => {
    const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 1000 };
    expect(usageOf((await events({ text: 'ok', usage })).events)).toMatchObject([{ cached_tokens: 10 }]);
    await model?.close();
    const negative = { ...usage, cached_tokens: -1000 };
    expect(usageOf((await events({ text: 'ok', usage: negative })).events)).toMatchObject([
      { cached_tokens: 0 },
    ]);
  });

  it('more than its call can have had is booked up to what budgets reserve for it', async () => {
    const { task, events: seen } = await events({
      text: 'ok',
      usage: { input_tokens: 2_000_000, output_tokens: 16_000_000 },
    });
    expect(usageOf(seen)).toMatchObject([callLimit(task)]);
    expect(callLimit(task)).toMatchObject({ output_tokens: MAX_OUTPUT });
  });
});

describe('a model that never stops', () => {
  it('is cut off where its answer must be longer than the tokens it was given', async () => {
    const chunks = Array.from({ length: 2000 }, () => 'word '.repeat(10));
    const { events: seen } = await events({ chunks, chunk_delay_ms: 1 });
    expect(lengthOf(seen)).toBeGreaterThan(MAX_OUTPUT * 4);
    expect(lengthOf(seen)).toBeLessThan(MAX_OUTPUT * 8 + 100);
    expect(seen.at(-2)).toMatchObject({ kind: 'log', message: expect.stringContaining('max_output_tokens') });
    expect(usageOf(seen)).toMatchObject([{ output_tokens: MAX_OUTPUT, usage_missing: true }]);
    await waitFor(() => model?.requests[0]?.state === 'aborted');
  });
});

it('a program that never stops is left out from one length on, with the ends of its messages', async () => {
  async function* talk(): AsyncGenerator<AdapterEvent> {
    for (let n = 0; n < 100; n += 1) {
      yield await Promise.resolve({ kind: 'output', text: 'x'.repeat(100_000) });
      yield { kind: 'boundary' };
    }
  }
  const kinds: string[] = [];
  for await (const { kind } of cleanEvents({ system_prompt: '', messages: [] }, talk(), null))
    kinds.push(kind);
  expect(kinds.filter((kind) => kind === 'output')).toHaveLength(40);
  expect(kinds.filter((kind) => kind === 'boundary')).toHaveLength(39);
});
