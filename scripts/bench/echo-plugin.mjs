#!/usr/bin/env node
// A plugin that only answers, for the benchmark.
import { createInterface } from 'node:readline';

const send = (type, payload = {}) => process.stdout.write(`${JSON.stringify({ type, payload })}\n`);
const tool = (namespace) => ({
  namespace,
  name: 'echo',
  description: 'Gives back its input',
  input_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
});
const answers = {
  init: ({ config }) =>
    send('ready', { manifest: { name: 'Echo', tools: [tool(config.namespace)], events: ['issue.*'] } }),
  health_check: () => send('health_check'),
  invoke_tool: ({ input, request_id }) => send('tool_result', { request_id, result: input }),
  trigger_event: ({ event_type }) => send('event_handled', { event_type }),
  shutdown: () => process.exit(0),
};
createInterface(process.stdin).on('line', (line) => {
  const { type, payload } = JSON.parse(line);
  answers[type]?.(payload);
});
