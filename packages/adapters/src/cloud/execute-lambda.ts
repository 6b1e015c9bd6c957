import { createValidator, LambdaConfig } from '@acp/contract';
import { AdapterError } from '../adapter-error.ts';
import { object, text } from '../cli/fields.ts';
import { failureOf } from '../cli/failures.ts';
import { defaultSigningKeys } from '../llm/cloud-credentials.ts';
import { TimeLimit } from '../process/time-limit.ts';
import { jsonObject } from '../process/lines.ts';
import { resultEvents } from '../result-body.ts';
import type { AdapterEvent, AdapterTask } from '../task.ts';

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
  const limit = new TimeLimit(caller, timeouts.total_sec);
  try {
    limit.check();
    const { AwsV4Signer } = await import('aws4fetch');
    const signer = new AwsV4Signer({
      ...(await defaultSigningKeys()),
      url: `${base}/2015-03-31/functions/${encodeURIComponent(config.function_name)}/invocations`,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-amz-invocation-type': type },
      body: JSON.stringify(payload),
      region,
      service: 'lambda',
    });
    const { url, method, headers, body } = await signer.sign();
    const response = await (cloud.fetch ?? fetch)(url.href, {
      method,
      headers: Object.fromEntries(headers),
      body,
      redirect: 'error',
      signal: limit.signal,
    });
    const answer = await response.text();
    if (!response.ok) throw refused(response.status, answer);
    if (response.headers.has('x-amz-function-error')) throw failed(answer);
    return answer;
  } catch (err) {
    limit.check();
    if (err instanceof AdapterError) throw err;
    throw new AdapterError('transient', `the function could not be invoked: ${causeOf(err)}`);
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

function causeOf(err: unknown): string {
  const cause = err instanceof Error ? (err.cause ?? err) : err;
  return cause instanceof Error ? cause.message : 'unknown error';
}
