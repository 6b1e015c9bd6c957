import { describe, expect, it } from '@jest/globals';
import { collector } from '@acp/kernel';
import { splitLines } from './lines.ts';
import { Pace } from './pace.ts';

const used = (): number => {
  collector()({ type: 'major', execution: 'sync' });
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

describe('output that a program writes byte by byte', () => {
  it('takes no more memory than its bytes while a line lasts', async () => {
    const before = used();
    let more = 0;
    async function* drip(): AsyncGenerator<Buffer> {
      for (let n = 0; n < 500_000; n += 1) yield Buffer.allocUnsafeSlow(1).fill('x');
      more = used() - before;
      yield Buffer.from('\nnext');
    }
    const lines = await all(splitLines(drip()));
    expect(lines.map((line) => line?.length)).toEqual([500_000, 4]);
    expect(more).toBeLessThan(20_000_000);
  });

  it('is read no faster than its lines would be', () => {
    const pace = new Pace();
    const bytes = Array.from({ length: 50_000 }, () => Buffer.from('x'));
    expect(bytes.findIndex((byte) => pace.count(byte) > 0)).toBeGreaterThanOrEqual(10_000);
  });
});

describe('lines', () => {
  it('are put together again wherever they were cut, without one that is too long', async () => {
    const text = Buffer.from(`${'ä'.repeat(20)}\r\n\n${'x'.repeat(50)}\n${'y'.repeat(40)}\nend`);
    for (const size of [1, 3, 7, 41, 1000]) {
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
        text.subarray(at * size, (at + 1) * size),
      );
      const lines = await all(splitLines(asynchronous(chunks), 41));
      expect(lines).toEqual(['ä'.repeat(20), '', undefined, 'y'.repeat(40), 'end']);
    }
  });
});

async function* asynchronous(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}
