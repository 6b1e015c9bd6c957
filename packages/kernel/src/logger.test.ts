import { describe, expect, it } from '@jest/globals';
import { Writable } from 'node:stream';
import { createLogger, requestContext, Scrubber } from './index.ts';
import type { LoggerOptions } from './logger.ts';

function capture(options: Partial<LoggerOptions> = {}) {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  const logger = createLogger({ level: 'info', format: 'json', role: 'web', stream, ...options });
  const lines = () => text.split('\n').filter((line) => line !== '');
  return { logger, lines, entries: () => lines().map((line): Record<string, unknown> => JSON.parse(line)) };
}

describe('the logger', () => {
  it('writes one JSON object a line, with the time, level, role, message and fields', () => {
    const { logger, entries } = capture();
    logger.info('listening', { port: 3100, nested: { a: [1, 'b', null] } });
    logger.error('broken\nline');
    expect(entries()).toEqual([
      {
        time: expect.stringMatching(/Z$/),
        level: 'info',
        role: 'web',
        message: 'listening',
        port: 3100,
        nested: { a: [1, 'b', null] },
      },
      { time: expect.any(String), level: 'error', role: 'web', message: 'broken\nline' },
    ]);
  });

  it.each([
    ['debug', 4],
    ['info', 3],
    ['warn', 2],
    ['error', 1],
  ] as const)('at level %s writes %d of the four levels', (level, count) => {
    const { logger, lines } = capture({ level });
    for (const each of ['debug', 'info', 'warn', 'error'] as const) logger[each]('x');
    expect(lines()).toHaveLength(count);
  });

  it('adds the request id of the asynchronous context, and none outside of it', async () => {
    const { logger, entries } = capture();
    await requestContext.run({ request_id: 'r1' }, async () => {
      await Promise.resolve();
      logger.info('inside');
    });
    logger.info('outside');
    expect(entries().map((entry) => entry.request_id)).toEqual(['r1', undefined]);
  });

  it('an error’s cause is shown where it is an error, and by its kind alone where it is anything else', () => {
    const { logger, lines, entries } = capture();
    const answer = { access_token: 'of the user', state: 'a state' };
    const inner = new Error('refused', { cause: answer });
    logger.warn('x', { error: new Error('outer', { cause: inner }) });
    expect(entries()[0]).toMatchObject({
      error: { message: 'outer', cause: { message: 'refused', cause: '[object]' } },
    });
    logger.warn('x', { error: new Error('outer', { cause: 'of the user' }) });
    expect(lines().join('')).not.toContain('of the user');
  });

  it('gives a child’s fields to each of its lines', () => {
    const { logger, entries } = capture();
    logger.child({ job: 'a', run_id: 1 }).child({ run_id: 2 }).info('x', { n: 3 });
    expect(entries()[0]).toMatchObject({ job: 'a', run_id: 2, n: 3 });
  });

  it('keeps a field from passing itself off as the level, message or request', () => {
    const { logger, entries } = capture();
    logger.info('real', { level: 'error', message: 'fake', request_id: 'fake', role: 'admin' });
    expect(entries()[0]).toMatchObject({
      level: 'info',
      message: 'real',
      level_: 'error',
      role_: 'admin',
      request_id_: 'fake',
    });
  });

  it('shows an error with its causes but not what a driver hangs onto it', () => {
    const { logger, entries } = capture();
    const driver = Object.assign(new Error('duplicate key'), { code: '23505', parameters: ['hunter2'] });
    logger.error('failed', { error: new Error('outer', { cause: driver }) });
    const [entry] = entries();
    expect(entry).toMatchObject({
      error: { message: 'outer', cause: { message: 'duplicate key', code: '23505' } },
    });
    expect(JSON.stringify(entry)).not.toContain('hunter2');
  });

  it('shows the first of several errors in one', () => {
    const { logger, entries } = capture();
    const errors = Array.from({ length: 9 }, (_, n) => new Error(`run ${n}`, { cause: new Error('gone') }));
    logger.error('failed', {
      error: new AggregateError([...errors, 'of the user'], '10 could not be ended'),
    });
    const [entry] = entries();
    expect(entry).toMatchObject({ error: { message: '10 could not be ended' } });
    const { errors: shown } = entry!.error as { errors: { message: string }[] };
    expect(shown.map(({ message }) => message)).toEqual(['run 0', 'run 1', 'run 2']);
    expect(shown[0]).toMatchObject({ cause: { message: 'gone' } });
    expect(JSON.stringify(entry)).not.toContain('of the user');
  });

  it('shows a failed statement without the values that it was sent with', () => {
    const { logger, lines } = capture();
    const message =
      'Failed query: insert into users values ($1, $2)\nparams: ada@example.org,the hash\nof two lines';
    logger.error('failed', { error: new Error(message, { cause: new Error('duplicate key') }) });
    expect(lines().join('')).toContain('insert into users values ($1, $2)');
    expect(lines().join('')).toContain('duplicate key');
    expect(lines().join('')).not.toMatch(/ada@example|the hash|of two lines/);
  });

  it('survives whatever JSON can not carry', () => {
    const { logger, entries } = capture();
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    logger.info('odd', {
      loop,
      big: 1n,
      fn: () => 1,
      date: new Date(0),
      bad: new Date(NaN),
      nan: NaN,
      symbol: Symbol('s'),
    });
    expect(entries()[0]).toMatchObject({
      loop: { self: '[…]' },
      big: '1',
      fn: '[function]',
      date: '1970-01-01T00:00:00.000Z',
      bad: null,
      nan: null,
      symbol: '[symbol]',
    });
  });

  it('writes no secret, whether in the message, a field or an error', () => {
    const scrubber = new Scrubber(['pass"word-1']);
    const { logger, lines } = capture({ scrubber });
    logger.warn('with pass"word-1', { url: 'x?p=pass"word-1', deep: { error: new Error('pass"word-1') } });
    expect(lines()[0]).toContain('[redacted]');
    expect(lines()[0]).not.toContain('word-1');
  });

  it('writes for people in the pretty format', () => {
    const { logger, lines } = capture({ format: 'pretty' });
    requestContext.run({ request_id: 'r1' }, () =>
      logger.warn('slow', { ms: 12, what: 'query', none: undefined }),
    );
    expect(lines()[0]).toMatch(/warn.* web {2}slow.* request_id=r1 ms=12 what=query/);
    expect(lines()[0]).not.toContain('none');
  });

  it('goes silent where nobody reads its lines any more, and is no defect of the process', async () => {
    let tries = 0;
    const stream = new Writable({
      emitClose: false,
      autoDestroy: false,
      write(_chunk, _encoding, done) {
        tries += 1;
        done(new Error('write EPIPE'));
      },
    });
    const { logger } = capture({ stream });
    // Without a listener, the error of the first line would end the test run.
    logger.error('one');
    await new Promise((resolve) => stream.once('error', resolve));
    for (let n = 0; n < 100; n += 1) logger.error('another');
    expect(tries).toBe(1);
  });

  it.each(['json', 'pretty'] as const)('as %s, lets no field speak to the terminal', (format) => {
    const { logger, lines } = capture({ format });
    logger.warn('a name', { name: 'x\u001b]0;owned\u0007\u009b2J\u202e\n12:00:00 info  web  forged' });
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toContain(String.raw`\u001b]0;owned\u0007\u009b2J\u202e`);
    // Only its own colours.
    expect(lines()[0]!.split('\u001b').length).toBe(format === 'json' ? 1 : 5);
  });
});
