import { createValidator, DockerConfig } from '@acp/contract';
import { AdapterError } from '../adapter-error.ts';
import { failureOfEnd } from '../cli/failures.ts';
import { TimeLimit } from '../process/time-limit.ts';
import { runProgram } from '../process/run-program.ts';
import { resultEvents } from '../result-body.ts';
import type { AdapterEvent, AdapterTask } from '../task.ts';
import { containerCall } from './container-call.ts';

const validate = createValidator(DockerConfig, 'adapter_config');
/** Maximum output of a container, in characters. */
const MAX_OUTPUT = 8 * 1024 * 1024;
const LOG_LINES = 1000;
const LOG_LENGTH = 2000;

/**
 * One container per run: it receives the task payload on stdin and writes the worker result body to stdout, as the whole
 * output or as its last line; other lines become log entries. Throws AdapterError.
 */
export async function* executeDocker(
  task: AdapterTask,
  signal: AbortSignal,
): AsyncGenerator<AdapterEvent, void> {
  const { program, payload } = task;
  if (program?.container === undefined || program.container === null || payload === undefined)
    throw new AdapterError('config', 'containers do not run here');
  const config = validate(task.adapter_config);
  const limit = new TimeLimit(signal, program.timeout_sec);
  try {
    limit.check();
    const call = containerCall({
      program,
      container: program.container,
      command: config.command ?? [],
      run_id: program.env.SERVICE_RUN_ID ?? '',
      stdin: JSON.stringify(payload),
      env: { ...program.own_env, ...config.env },
    });
    const output = yield* readContainer(runProgram(call, limit.signal), limit);
    yield* resultEvents(output, task.model);
  } finally {
    limit.close();
  }
}

/** Its output; what is no part of the result becomes log entries. However the reading ends, the container has ended by then. */
async function* readContainer(
  lines: ReturnType<typeof runProgram>,
  limit: TimeLimit,
): AsyncGenerator<AdapterEvent, string> {
  let output = '';
  let logged = 0;
  try {
    for (;;) {
      const next = await lines.next();
      limit.check();
      if (next.done === true) {
        if (next.value.code !== 0) throw failureOfEnd('the container', next.value);
        return output;
      }
      const line = next.value ?? '';
      output += `${line}\n`;
      if (output.length > MAX_OUTPUT) throw new AdapterError('permanent', 'the container wrote too much');
      if (!/^\s*[{}"\]]/.test(line) && line.trim() !== '' && (logged += 1) <= LOG_LINES)
        yield { kind: 'log', message: line.slice(0, LOG_LENGTH).toWellFormed() };
    }
  } finally {
    await lines.return({ code: null, signal: null, stderr: '' });
  }
}
