import { describe, expect, it } from '@jest/globals';
import { newId } from '@acp/kernel';
import { markedProcesses } from './marked.ts';
import { runProgram } from './run-program.ts';

const start = (script: string) => {
  const run_id = newId();
  const env = { PATH: process.env.PATH ?? '', SERVICE_RUN_ID: run_id };
  const command = ['/bin/sh', '-c', script];
  return runProgram({ command, cwd: '/', env, stdin: '', run_id }, AbortSignal.timeout(60_000));
};

describe('a program that never stops talking', () => {
  it('is read no faster than anyone could use', async () => {
    const lines = start(`yes ${'x'.repeat(100)}`);
    const begin = performance.now();
    for (let n = 0; n < 35_000; n += 1) expect((await lines.next()).value).toHaveLength(100);
    // Ten thousand a second, and those of the chunk that is one too many.
    expect(performance.now() - begin).toBeGreaterThan(2900);
    await lines.return({ code: null, signal: null, stderr: '' });
  });

  it('on standard error, likewise, and is quoted with what it said last', async () => {
    const lines = start('head -c 20000000 /dev/zero | tr "\\\\0" x >&2; echo the end >&2');
    const begin = performance.now();
    const { value } = await lines.next();
    expect(performance.now() - begin).toBeGreaterThan(1900);
    expect(value).toMatchObject({ code: 0, stderr: expect.stringMatching(/^x+the end\n$/) });
  });
});

describe('a program that is killed for a reason', () => {
  it('gets no time for a farewell, leaves nothing, and its end says why, whether or not anyone reads it', async () => {
    const run_id = newId();
    let over = false;
    const killed = Promise.withResolvers<void>();
    const lines = runProgram(
      {
        command: ['/bin/sh', '-c', 'trap "" TERM; sleep 1000 & echo begun; sleep 1000; echo bye'],
        cwd: '/',
        env: { PATH: process.env.PATH ?? '', SERVICE_RUN_ID: run_id },
        stdin: '',
        run_id,
        watch: (kill) => {
          void kill('it is too loud').then(killed.resolve, killed.reject);
          return () => (over = true);
        },
      },
      AbortSignal.timeout(60_000),
    );
    const first = lines.next();
    await killed.promise;
    expect((await markedProcesses()).filter((each) => each.run_id === run_id)).toEqual([]);
    let next = await first;
    while (next.done !== true) {
      expect(next.value).toBe('begun');
      next = await lines.next();
    }
    expect(next.value).toMatchObject({ code: null, signal: 'SIGKILL', too_much: 'it is too loud' });
    expect(over).toBe(true);
  });
});
