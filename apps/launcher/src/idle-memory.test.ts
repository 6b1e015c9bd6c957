import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const module = path.join(import.meta.dirname, 'idle-memory.ts');

/** A process that has filled its heap, dropped everything and is idle; it prints its heap size in MB. */
const IDLER = `
  import { releaseMemoryWhenIdle } from ${JSON.stringify(module)};
  let held = Array.from({ length: 2_000_000 }, (_, n) => ({ n }));
  const full = process.memoryUsage().heapTotal;
  held = null;
  let rested = 0;
  releaseMemoryWhenIdle(async () => { rested += 1; }, 100);
  const looking = setInterval(() => {
    const now = process.memoryUsage().heapTotal;
    if (now > full / 2) return;
    clearInterval(looking);
    console.log(Math.round(full / 1e6), Math.round(now / 1e6), rested);
  }, 100);`;

describe('a process that has become idle', () => {
  it('gives back the memory of its work', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', IDLER], { timeout: 15_000 });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await once(child, 'close');
    const [full, idle, rested] = output.split(' ').map(Number);
    expect(full).toBeGreaterThan(80);
    expect(idle).toBeLessThan(20);
    expect(rested).toBe(1);
  });
});
