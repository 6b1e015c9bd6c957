import { describe, expect, it } from '@jest/globals';
import { collector, JoinedBytes } from './index.ts';

describe('bytes joined as they come', () => {
  it('are all there, in their order, and begin anew once they were taken', () => {
    const bytes = new JoinedBytes();
    const pieces = Array.from({ length: 500 }, (_, at) => Buffer.from(`${at},`.repeat(at % 7)));
    for (const piece of pieces) bytes.add(piece);
    expect(bytes.length).toBe(Buffer.concat(pieces).length);
    const first = bytes.take();
    expect(bytes.length).toBe(0);
    expect(bytes.takeWith(Buffer.from('alone')).toString()).toBe('alone');
    bytes.add(Buffer.from('one, '));
    expect(bytes.takeWith(Buffer.from('two')).toString()).toBe('one, two');
    expect(bytes.take()).toHaveLength(0);
    expect(first.equals(Buffer.concat(pieces))).toBe(true);
  });

  it('take as little memory if each is sent on its own', () => {
    const bytes = new JoinedBytes();
    const used = (): number => {
      collector()({ type: 'major', execution: 'sync' });
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const before = used();
    for (let n = 0; n < 1_000_000; n += 1) bytes.add(Buffer.allocUnsafeSlow(1).fill('x'));
    // Kept as they came, they take a hundred times as much.
    expect(used() - before).toBeLessThan(10_000_000);
    expect(bytes.take().toString('latin1')).toBe('x'.repeat(1_000_000));
  });
});
