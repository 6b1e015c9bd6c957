import { AdapterError } from './adapter-error.ts';
import { probeLambda } from './cloud/execute-lambda.ts';
import { execute } from './execute.ts';
import type { AdapterTask } from './task.ts';

interface SmokeTest {
  ok: boolean;
  latency_ms: number;
  /** What was observed: the beginning of the answer, or what was tried. */
  detail: string | null;
  error: string | null;
}

const DETAIL_LENGTH = 200;

/** A minimal prompt to which any answer will do. A function is only checked for, not invoked. */
const prompt = {
  system_prompt: 'You are tested for your connection. Use no tools.',
  messages: [{ role: 'user' as const, content: 'Answer with the single word: ok' }],
};

/** One small real call through the adapter. Never throws. The task's own prompt is not sent. */
export async function smokeTest(task: AdapterTask, signal: AbortSignal): Promise<SmokeTest> {
  const started = performance.now();
  const result = (detail: string | null, error: string | null): SmokeTest => ({
    ok: error === null,
    latency_ms: Math.round(performance.now() - started),
    detail,
    error,
  });
  try {
    if (task.provider === null && task.adapter_type === 'lambda') {
      await probeLambda(task, signal);
      return result('the function may be invoked; it was not', null);
    }
    let said = '';
    for await (const event of execute({ ...task, ...prompt }, signal)) {
      if (event.kind === 'output') said += event.text;
    }
    return result(`answered: ${said.slice(0, DETAIL_LENGTH).toWellFormed()}`, null);
  } catch (err) {
    if (err instanceof AdapterError) return result(null, `${err.category}: ${err.message}`);
    throw err;
  }
}
