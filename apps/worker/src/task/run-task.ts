import { AdapterError, execute, refusalWords } from '@acp/adapters';
import type { RemoteTask, TaskPayload, WorkerReport } from '@acp/contract';
import { cutText, type Logger, Scrubber, storableText, type WorkerConfig } from '@acp/kernel';
import { EventBatch, type EventBatchSettings } from '../service/event-batch.ts';
import { Answer } from './answer.ts';
import { planTask, type TaskPlan } from './plan.ts';
import { taskPrompt } from './prompt.ts';

export interface TaskSettings {
  config: WorkerConfig;
  logger: Logger;
  /** Parent folder of all tasks' homes. */
  root: string;
  operating_prompt: string;
  events: Pick<EventBatchSettings, 'plane' | 'link' | 'batch_ms'>;
}

const LONGEST_ERROR = 8000;
/** How long a result may wait for the transcript to be sent first. */
const EVENTS_MS = 5000;

/**
 * Works on a task. @returns its report; undefined if the signal aborted it, in which case nothing is reported. By then its
 * folders are removed and its programs have ended. Never rejects.
 */
export async function runTask(
  settings: TaskSettings,
  { id, payload }: Pick<RemoteTask, 'id' | 'payload'>,
  signal: AbortSignal,
): Promise<WorkerReport | undefined> {
  const { logger, events } = settings;
  let plan: TaskPlan | undefined;
  let scrubber = new Scrubber(ownSecrets(settings.config, payload));
  let batch: EventBatch | undefined;
  try {
    const prompt = taskPrompt(payload, settings.operating_prompt);
    plan = await planTask({ ...settings, payload, prompt });
    scrubber = new Scrubber([...ownSecrets(settings.config, payload), ...plan.secrets]);
    batch = new EventBatch({ ...events, task_id: id, scrubber });
    const answer = new Answer();
    try {
      for await (const event of execute(plan.task, signal)) {
        answer.take(event);
        batch.add(event);
      }
    } finally {
      reportRefusal(plan.task, batch);
    }
    signal.throwIfAborted();
    const result = answer.result(scrubber);
    if (result.summary === '') throw new AdapterError('permanent', 'the agent has said nothing');
    await batch.close(EVENTS_MS);
    return signal.aborted ? undefined : { result };
  } catch (err) {
    if (signal.aborted) {
      batch?.drop();
      return undefined;
    }
    await batch?.close(EVENTS_MS);
    if (!(err instanceof AdapterError)) logger.error('a task failed', { task_id: id, error: err });
    const said =
      err instanceof AdapterError ? `${err.category}: ${err.message}` : 'internal error of the worker';
    return { error: cutText(storableText(scrubber.scrub(said)), LONGEST_ERROR) };
  } finally {
    await plan?.folders?.remove();
  }
}

/** Reports the destinations its programs were denied; the service shows them on the run. */
function reportRefusal({ program }: TaskPlan['task'], batch: EventBatch): void {
  const reach = program?.container?.reach ?? program?.sandbox?.reach;
  const refused = reach?.takeRefused() ?? [];
  if (refused.length === 0) return;
  batch.add({ kind: 'log', message: `not let out to ${refusalWords(refused)}`, refused });
}

function ownSecrets({ worker_key, default_llm_api_key }: WorkerConfig, payload: TaskPayload): string[] {
  const { service_api_key, project_module_token } = payload;
  return [worker_key, default_llm_api_key, service_api_key, project_module_token].filter(
    (each) => each !== null && each !== undefined,
  );
}
