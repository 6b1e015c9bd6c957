/** Faulty starts of plugin.mjs, chosen by its configuration, and the reported reasons. */
export const badStarts: readonly [what: string, config: object, reason: string][] = [
  ['prints garbage', { write: 'hello\n', quiet: true }, 'a line is not JSON'],
  [
    'sends a message of no type',
    { write: '{"type":"explode","payload":{}}\n', quiet: true },
    'unknown message type "explode"',
  ],
  ['has a malformed manifest', { manifest: { tools: [{ name: 'a b' }] } }, 'ready: payload.manifest.tools.0'],
  [
    'has a bad schedule',
    { manifest: { jobs: [{ name: 'j', schedule: '61 * * * *' }] } },
    'schedule of job j',
  ],
  ['has a bad pattern', { manifest: { events: ['issue..x'] } }, 'payload.manifest.events.0'],
  [
    'has two tools of one name',
    {
      manifest: {
        tools: ['x', 'x'].map((namespace) => ({ namespace, name: 'a', description: '', input_schema: {} })),
      },
    },
    'two tools named x:a',
  ],
  [
    'has a text that no database keeps',
    { manifest: { tools: [{ namespace: 'x', name: 'a', description: 'a%NULb', input_schema: {} }] } },
    'a text contains NUL',
  ],
  [
    'has an input schema that is none',
    {
      manifest: {
        tools: [{ namespace: 'x', name: 'a', description: '', input_schema: { type: 'thing' } }],
      },
    },
    'the input schema of tool a can’t be used',
  ],
  ['speaks another version', { version: 9 }, 'version 9 of the protocol'],
  [
    'ends at once',
    { exit: 5, stderr: 'out of%NUL luck' },
    'it ended by itself, with code 5; it last wrote: out of luck',
  ],
  ['closes its output', { close: true, quiet: true }, 'it closed its output'],
];
