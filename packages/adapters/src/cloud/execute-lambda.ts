import { createValidator, LambdaConfig } from '@acp/contract';
import { exchange, ExchangeFailure } from '@acp/kernel';
import { AdapterError } from '../adapter-error.ts';
import { object, text } from '../cli/fields.ts';
import { failureOf } from '../cli/failures.ts';
import { defaultSigningKeys } from '../llm/cloud-credentials.ts';
import { TimeLimit } from '../process/time-limit.ts';
import { jsonObject } from '../process/lines.ts';
import { resultEvents } from '../result-body.ts';
import type { AdapterEvent, AdapterTask } from '../task.ts';

/** The platform's own limit of a function's answer is 6 MB. */
const MOST_BYTES = 8 * 1024 * 1024;

const validate = createValidator(LambdaConfig, 'adapter_config');

/**
 * Invokes the function with the task payload as its event, and treats the response as the worker result body. Never retried,
 * since the function may have done its work. Throws AdapterError.
 */
export async function* executeLambda(
  task: AdapterTask,
  signal: AbortSignal,
): AsyncGenerator<AdapterEvent, void> {
  const answer = await invoke(task, signal, 'RequestResponse');
  yield* resultEvents(answer, task.model);
}

/** Checks that the function exists and may be invoked, without invoking it. Throws AdapterError. */
export async function probeLambda(task: AdapterTask, signal: AbortSignal): Promise<void> {
  await invoke(task, signal, 'DryRun');
}

async function invoke(
  task: AdapterTask,
  caller: AbortSignal,
  type: 'RequestResponse' | 'DryRun',
): Promise<string> {
  const { cloud, payload, timeouts } = task;
  if (cloud === undefined || payload === undefined)
    throw new AdapterError('config', 'functions are not invoked here');
  const config = validate(task.adapter_config);
  const region = config.region ?? cloud.region;
  const base = cloud.endpoint ?? `https://lambda.${region}.amazonaws.com`;
  const body = JSON.stringify(payload);
  const limit = new TimeLimit(caller, timeouts.total_sec);
  try {
    limit.check();
    const { AwsV4Signer } = await import('aws4fetch');
    const keys = await defaultSigningKeys();
    const signer = new AwsV4Signer({
      ...keys,
      url: `${base}/2015-03-31/functions/${encodeURIComponent(config.function_name)}/invocations`,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-amz-invocation-type': type },
      body,
      region,
      service: 'lambda',
    });
    const { url, headers } = await signer.sign();
    const answer = await exchange(
      cloud.fetch ?? fetch,
      url,
      { method: 'POST', headers: Object.fromEntries(headers), body },
      {
        signal: limit.signal,
        // The signal is a time limit, with an error of its own.
        time_ms: Number.POSITIVE_INFINITY,
        most_bytes: MOST_BYTES,
        secrets: [keys.secretAccessKey],
      },
    );
    const { ok, status, text: said } = answer;
    if (!ok) throw refused(status, said);
    if (answer.headers.has('x-amz-function-error')) throw failed(said);
    return said;
  } catch (err) {
    limit.check();
    if (!(err instanceof ExchangeFailure)) throw err;
    const category = err.kind === 'malformed' ? 'permanent' : 'transient';
    throw new AdapterError(category, `the function could not be invoked: ${err.message}`);
  } finally {
    limit.close();
  }
}

function refused(status: number, answer: string): AdapterError {
  const body = object(jsonObject(answer));
  const message = text(body.message) || text(body.Message) || `status ${status}`;
  return failureOf(`the function could not be invoked: ${message}`, status);
}

/** The function ran and failed: its own error message, without a stack trace. */
function failed(answer: string): AdapterError {
  const message = text(object(jsonObject(answer)).errorMessage) || 'no message';
  return new AdapterError('permanent', `the function failed: ${message.slice(0, 2000).toWellFormed()}`);
}
