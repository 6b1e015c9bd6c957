import { Scrubber } from '@acp/kernel';
import { waitFor } from '@acp/testkit';
import { describe, expect, it } from '@jest/globals';
import { Refusal, type TaskEvent, Unreachable } from './control-plane.ts';
import { EventBatch } from './event-batch.ts';

type Sent = readonly TaskEvent[];

function scene(send: (events: Sent) => Promise<void>) {
  const sent: Sent[] = [];
  const batch = new EventBatch({
    task_id: 'one',
    batch_ms: 5,
    scrubber: new Scrubber(['sk-secret-0123456789']),
    link: { works: () => undefined, fails: () => null },
    plane: {
      async sendEvents(_task, events) {
        await send(events);
        sent.push(structuredClone(events));
      },
    },
  });
  return { batch, sent };
}

const textOf = (sent: Sent[]) =>
  sent
    .flat()
    .filter(({ kind }) => kind === 'output')
    .map(({ payload }) => String(payload.text))
    .join('');

describe('events of a task', () => {
  it('go out in order, words joined, without a secret that came in pieces', async () => {
    const { batch, sent } = scene(async () => Promise.resolve());
    for (const text of ['The key is sk-', 'secret-', '0123456789', ', keep it.'])
      batch.add({ kind: 'output', text });
    batch.add({ kind: 'tool', name: 'Bash', input: 'echo sk-secret-0123456789' });
    batch.add({ kind: 'output', text: 'Done.' });
    await batch.close(5000);
    expect(textOf(sent)).toBe('The key is [redacted], keep it.Done.');
    expect(sent.flat().map(({ kind }) => kind)).toEqual(['output', 'tool', 'output']);
    expect(JSON.stringify(sent)).not.toContain('secret');
  });

  it('are split between characters, wherever their length ends', async () => {
    const { batch, sent } = scene(async () => Promise.resolve());
    const text = `${'x'.repeat(15_999)}${'⛵🚢'.repeat(20_000)}`;
    batch.add({ kind: 'output', text });
    await batch.close(5000);
    expect(sent.flat().every(({ payload }) => String(payload.text).isWellFormed())).toBe(true);
    expect(textOf(sent)).toBe(text);
  });

  it('are sent again after a failure, and not after a refusal that stays', async () => {
    const answers = [new Unreachable('cut'), new Refusal(503, 'busy'), null, new Refusal(404, 'not found')];
    let asked = 0;
    const { batch, sent } = scene(async () => {
      const answer = answers[asked];
      asked += 1;
      if (answer) throw answer;
      await Promise.resolve();
    });
    batch.add({ kind: 'log', message: 'one' });
    await waitFor(() => sent.length === 1, { timeout_ms: 5000 });
    batch.add({ kind: 'log', message: 'two' });
    await batch.close(5000);
    expect([asked, sent.flat().map(({ payload }) => payload.message)]).toEqual([4, ['one']]);
  });

  it('are bounded while nobody takes them, which is said', async () => {
    let open = false;
    const { batch, sent } = scene(async () => {
      if (!open) throw new Unreachable('cut');
      await Promise.resolve();
    });
    for (let n = 0; n < 6000; n += 1) batch.add({ kind: 'log', message: `entry ${n}` });
    open = true;
    await batch.close(10_000);
    const messages = sent.flat().map(({ payload }) => String(payload.message));
    expect(messages).toHaveLength(5001);
    expect(messages.at(-1)).toBe('1000 entries were left out while the service could not be reached');
    expect(Math.max(...sent.map((events) => events.length))).toBeLessThanOrEqual(500);
  });
});
