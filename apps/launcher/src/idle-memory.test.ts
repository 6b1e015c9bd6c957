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

/** A process that has compiled 2,000 functions, which it keeps, and is idle; it prints how many MB their code was and is. */
const COMPILER = `
  import { collector } from '@acp/kernel';
  import { releaseMemoryWhenIdle } from ${JSON.stringify(module)};
  const used = () => {
    collector()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    return process.memoryUsage().heapUsed / 1e6;
  };
  const body = Array.from({ length: 50 }, (_, n) => 'total += n * ' + n + ' + given.at(' + n + ')?.length;').join('');
  const made = Array.from({ length: 2000 }, () => '(given, n) => { let total = 0;' + body + 'return total; }');
  const functions = (0, eval)('[' + made.join(',') + ']');
  const before = used();
  for (let time = 0; time < 20; time += 1) for (const each of functions) each([], 1);
  const compiled = used() - before;
  releaseMemoryWhenIdle(async () => undefined, 100);
  const looking = setInterval(() => {
    const now = process.memoryUsage().heapUsed / 1e6 - before;
    if (now > compiled / 2) return;
    clearInterval(looking);
    console.log(Math.round(compiled), Math.round(now), Number.isNaN(functions.at(-1)([], 1)));
  }, 100);`;

/** A process that starts as main.mjs does, and is then up; it prints when V8 has optimised a function that it calls often. */
const STARTER = `
  import { setFlagsFromString } from 'node:v8';
  import { endStart } from ${JSON.stringify(module)};
  const often = (many) => { let sum = 0; for (let n = 0; n < many; n += 1) sum += n % 7; return sum; };
  const isOptimised = () => (%GetOptimizationStatus(often) & 16) !== 0;
  for (const compiler of ['opt', 'maglev']) setFlagsFromString('--no-' + compiler);
  for (let time = 0; time < 10_000; time += 1) often(1000);
  console.log(isOptimised());
  endStart();
  const work = () => {
    for (let time = 0; time < 10_000; time += 1) often(1000);
    if (!isOptimised()) return setImmediate(work);
    console.log(true);
  };
  work();`;

async function outputOf(program: string, ...flags: string[]): Promise<string> {
  const options = { timeout: 60_000, cwd: import.meta.dirname };
  const child = spawn(process.execPath, [...flags, '--input-type=module', '-e', program], options);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  return output;
}

describe('a process that has become idle', () => {
  it('gives back the memory of its work', async () => {
    const [full, idle, rested] = (await outputOf(IDLER)).split(' ').map(Number);
    expect(full).toBeGreaterThan(80);
    expect(idle).toBeLessThan(20);
    expect(rested).toBe(1);
  });

  it('drops compiled code, and compiles what it needs again', async () => {
    const [compiled, kept, works] = (await outputOf(COMPILER)).trim().split(' ');
    expect(Number(compiled)).toBeGreaterThan(5);
    expect(Number(kept)).toBeLessThan(Number(compiled) / 2);
    expect(works).toBe('true');
  });
});

it('a process optimises code once it is up, not while it starts', async () => {
  expect(await outputOf(STARTER, '--allow-natives-syntax')).toBe('false\ntrue\n');
});
