import { describe, expect, it } from '@jest/globals';
import { MAX_PLUGIN_MESSAGE_BYTES, type PluginMessage } from '@acp/contract';
import { checkManifest, encodeMessage, LineCutter, readPluginMessage } from './index.ts';
import { readHostMessage } from './messages.ts';

const lines = (cutter: LineCutter, ...chunks: string[]) =>
  chunks.flatMap((chunk) => cutter.push(Buffer.from(chunk)));

describe('the line cutter', () => {
  it('gives lines that come in pieces, as a whole and in order', () => {
    const cutter = new LineCutter();
    expect(lines(cutter, '{"a":', '1}\n{"b":2}\r\n\n{"c"', ':3}', '\n')).toEqual([
      '{"a":1}',
      '{"b":2}',
      '{"c":3}',
    ]);
    const [first, second] = [Buffer.from('"é"\n').subarray(0, 2), Buffer.from('"é"\n').subarray(2)];
    expect([...cutter.push(first), ...cutter.push(second)]).toEqual(['"é"']);
  });

  it('refuses a line over the limit as soon as it is over it, also one that never ends', () => {
    const cutter = new LineCutter(100);
    expect(lines(cutter, 'x'.repeat(99) + '\n')).toHaveLength(1);
    expect(() => lines(cutter, 'x'.repeat(60), 'x'.repeat(60))).toThrow('longer than 100 bytes');
  });
});

describe('a message', () => {
  it('of a megabyte passes, one byte more does not, in both directions', () => {
    const log = (message: string) => ({ type: 'log', payload: { level: 'info', message } }) as const;
    const room = MAX_PLUGIN_MESSAGE_BYTES - encodeMessage(log('')).length;
    const line = encodeMessage(log('x'.repeat(room)));
    expect(line).toHaveLength(MAX_PLUGIN_MESSAGE_BYTES);
    expect(readPluginMessage(new LineCutter().push(line)[0]!)).toEqual(log('x'.repeat(room)));
    expect(() => encodeMessage(log('x'.repeat(room + 1)))).toThrow('more than 1048576');
  });

  it.each([
    ['garbage', 'hello', 'not JSON'],
    ['no object', '7', 'no type'],
    ['null', 'null', 'no type'],
    ['an unknown type', '{"type":"explode"}', 'unknown message type "explode"'],
    ['a name of an object’s own', '{"type":"constructor"}', 'unknown message type'],
    ['a payload of another shape', '{"type":"tool_result","payload":{"result":1}}', 'tool_result: payload'],
    ['too deep', `{"type":"ready","payload":${'['.repeat(100)}${']'.repeat(100)}}`, 'nested deeper'],
  ])('of a plugin that is %s is refused with the reason', (_, line, reason) => {
    expect(() => readPluginMessage(line)).toThrow(reason);
  });

  it('without a payload has an empty one', () => {
    expect(readPluginMessage('{"type":"health_check"}')).toEqual({ type: 'health_check', payload: {} });
    expect(readHostMessage('{"type":"shutdown"}')).toEqual({ type: 'shutdown', payload: {} });
  });

  it.each([
    ['DEBUG', 'debug'],
    ['trace', 'debug'],
    ['Notice', 'info'],
    ['warning', 'warn'],
    ['WARN', 'warn'],
    ['fatal', 'error'],
    ['Critical', 'error'],
    ['loud', 'info'],
    [30, 'info'],
    [undefined, 'info'],
  ])('of the log with the level %j has the level %s', (level, expected) => {
    const line = JSON.stringify({ type: 'log', payload: { level, message: 'x' } });
    expect(readPluginMessage(line)).toEqual({ type: 'log', payload: { level: expected, message: 'x' } });
  });

  it.each([
    [undefined, null],
    [null, null],
    [false, null],
    ['no', 'no'],
    [{ code: 'c' }, { message: '', code: 'c' }],
    [
      { message: 'no', code: 7 },
      { message: 'no', code: '7' },
    ],
    [{ reason: 'no' }, '{"reason":"no"}'],
    [404, '404'],
  ])('of a result with the error %j has the error %j', (error, expected) => {
    const line = JSON.stringify({ type: 'tool_result', payload: { request_id: 'r', error } });
    expect(readPluginMessage(line).payload).toEqual({ request_id: 'r', error: expected });
  });

  it('of the log or an error has what text there is', () => {
    const read = (type: string, payload: object) =>
      readPluginMessage(JSON.stringify({ type, payload })).payload;
    expect(read('log', {})).toEqual({ level: 'info', message: '' });
    expect(read('log', { message: { a: 1 } })).toEqual({ level: 'info', message: '{"a":1}' });
    expect(read('error', {})).toEqual({ message: '', code: null });
    expect(read('error', { message: 'no', code: { a: 1 } })).toEqual({ message: 'no', code: '{"a":1}' });
  });

  it.each(['pong', 'health_check_result', 'ok'])(
    'of the type %s answers a health check, and is unknown at other times',
    (type) => {
      const line = JSON.stringify({ type, payload: 'fine' });
      const answer = { type: 'health_check', payload: {} };
      expect(readPluginMessage(line, { health_asked: true })).toEqual(answer);
      expect(() => readPluginMessage(line)).toThrow(`unknown message type "${type}"`);
      expect(readPluginMessage('{"type":"health_check","payload":"fine"}')).toEqual(answer);
    },
  );

  it.each([
    [
      { service: 'kv', args: {}, request_id: 7 },
      { service: 'kv', request_id: 7 },
    ],
    [
      { args: {}, request_id: 'r' },
      { service: '', request_id: 'r' },
    ],
    [{ service: 'kv' }, { service: 'kv', request_id: null }],
    [{ service: 'kv', request_id: '' }, { request_id: null }],
    [{ service: 'kv', request_id: 'x'.repeat(201) }, { request_id: null }],
    [{ service: 'kv', request_id: { a: 1 } }, { request_id: null }],
  ])('that asks the host for %j is read, so that it can be answered', (payload, expected) => {
    const line = JSON.stringify({ type: 'host_request', payload });
    expect(readPluginMessage(line)).toMatchObject({ type: 'host_request', payload: expected });
  });
});

describe('a manifest', () => {
  const tool = { name: 'a', namespace: 'n', description: '', input_schema: {} };
  it('is given without gaps', () => {
    expect(checkManifest({ name: 'x', tools: null })).toEqual({
      name: 'x',
      tools: [],
      events: [],
      jobs: [],
      webhooks: [],
    });
  });

  it('gives tools their defaults, and lets namespaces tell tools of one name apart', () => {
    const bare = { name: 'a', namespace: 'n' };
    const { tools } = checkManifest({
      name: 'x',
      tools: [bare, { ...bare, namespace: 'm', description: null, input_schema: null }],
    });
    const defaults = { name: 'a', description: '', input_schema: { type: 'object' } };
    expect(tools).toEqual([
      { ...defaults, namespace: 'n' },
      { ...defaults, namespace: 'm' },
    ]);
  });

  it.each([
    ['/incoming', 'incoming'],
    ['a/b/', 'a/b'],
    ['/a/b/', 'a/b'],
  ])('with the webhook path "%s" has "%s"', (path, bare) => {
    const line = JSON.stringify({
      type: 'ready',
      payload: { manifest: { name: 'x', webhooks: [{ path }] } },
    });
    const { payload } = readPluginMessage(line) as Extract<PluginMessage, { type: 'ready' }>;
    expect(checkManifest(payload.manifest).webhooks).toEqual([{ path: bare, declared: path }]);
  });

  it.each(['/', '//a', 'a//', 'a/../b', ''])('with the webhook path "%s" is refused', (path) => {
    const line = JSON.stringify({
      type: 'ready',
      payload: { manifest: { name: 'x', webhooks: [{ path }] } },
    });
    expect(() => readPluginMessage(line)).toThrow('ready: payload.manifest.webhooks.0');
  });

  it.each([
    ['two tools of one name', { tools: [tool, tool] }, 'two tools named n:a'],
    ['two webhooks of one path', { webhooks: [{ path: 'p' }, { path: '/p' }] }, 'two webhooks named p'],
    ['a text that can’t be kept', { tools: [{ ...tool, description: 'a\0b' }] }, 'contains NUL'],
    [
      'half a character',
      { jobs: [{ name: 'j', schedule: '* * * * *', config: { '\ud800': 1 } }] },
      'unpaired surrogate',
    ],
    [
      'an endless schema',
      { tools: [{ ...tool, input_schema: { enum: ['x'.repeat(40_000)] } }] },
      'input schema of tool a is longer',
    ],
  ])('with %s is refused', (_, part, reason) => {
    expect(() => checkManifest({ name: 'x', ...part })).toThrow(reason);
  });

  it.each(['issue created', 'issue..created', 'issue.*x', ''])(
    'with the pattern "%s" is refused',
    (pattern) => {
      const line = JSON.stringify({ type: 'ready', payload: { manifest: { name: 'x', events: [pattern] } } });
      expect(() => readPluginMessage(line)).toThrow('ready: payload.manifest.events.0');
    },
  );
});
