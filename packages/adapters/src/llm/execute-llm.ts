import { AdapterError } from '../adapter-error.ts';
import type { AdapterEvent, AdapterTask } from '../task.ts';
import { streamedAnswer, wholeAnswer, type Progress } from './answer.ts';
import { CallWatch } from './call-watch.ts';
import { connectionTo, presentable, type Connection } from './connection.ts';
import { failureOfThrown } from './failure.ts';
import { canStream } from './families.ts';
import { modelOf } from './kept-models.ts';
import { lengthOf, promptOf } from './prompt.ts';
import { retryDelayMs } from './retry.ts';
import { countImages, withoutImages } from './sight.ts';
import { estimatedUsage } from './usage.ts';
import { watchedFetch } from './watched-fetch.ts';

async function* attempt(
  task: AdapterTask,
  connection: Connection,
  watch: CallWatch,
  progress: Progress,
): AsyncGenerator<AdapterEvent, void> {
  const stream = canStream(connection.family);
  const { base_url: baseUrl, fetch } = connection;
  const question = {
    model: await watch.unlessOver(modelOf(connection, task.model)),
    fetch: watchedFetch({ base_url: baseUrl, watch, fetch, stream }),
    model_name: task.model,
    prompt: promptOf(task),
    max_output_tokens: task.max_output_tokens,
  };
  yield* stream ? streamedAnswer(question, watch, progress) : wholeAnswer(question, watch, progress);
}

/**
 * One turn of a model: its output as it streams in, then its usage. Transient failures are retried at most twice, and only
 * until the model has begun to answer; a rejected call with images is retried once with descriptions instead. A call that
 * fails later first yields its estimated usage, since it costs money.
 * Throws AdapterError. Leaving the iteration closes the connection immediately, as does the signal.
 */
export async function* executeLlm(
  asked: AdapterTask,
  signal: AbortSignal,
): AsyncGenerator<AdapterEvent, void> {
  if (asked.provider === null) throw new AdapterError('config', 'no LLM provider is configured');
  let task = asked;
  if (task.model.trim() === '') throw new AdapterError('config', 'no model is configured');
  const connection = connectionTo(asked.provider);
  const watch = new CallWatch(signal, task.timeouts);
  try {
    for (let count = 1; ; count += 1) {
      const progress: Progress = { started: false, output_length: 0 };
      try {
        watch.check();
        yield* attempt(task, connection, watch, progress);
        return;
      } catch (thrown) {
        // Once the watch has ended the call, any other error is a consequence of that.
        const reason: unknown = watch.signal.aborted ? watch.signal.reason : thrown;
        const failure = presentable(failureOfThrown(reason), connection.scrubber);
        if (progress.started)
          yield estimatedUsage(task.model, lengthOf(promptOf(task)), progress.output_length);
        if (!progress.started && refusesImages(failure, task)) {
          yield { kind: 'log', message: `${failure.message}; asking again without images` };
          task = { ...task, messages: withoutImages(task.messages) };
          continue;
        }
        const wait = progress.started ? null : retryDelayMs(failure, count);
        if (wait === null) throw failure;
        yield { kind: 'log', message: `${failure.message}; trying again in ${(wait / 1000).toFixed(1)} s` };
        await watch.sleep(wait);
      }
    }
  } finally {
    watch.close();
  }
}

/** Few endpoints give a reason: rejecting the request may mean rejecting its images. */
function refusesImages({ category, status = 0, message }: AdapterError, { messages }: AdapterTask): boolean {
  if (countImages(messages) === 0) return false;
  const refused = category === 'permanent' && [400, 413, 415, 422].includes(status);
  return refused || (status >= 400 && /image|vision|multimodal/i.test(message));
}
