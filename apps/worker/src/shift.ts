/** A worker at work: from registration until it has no more tasks. */
import type { RemoteTask } from '@acp/contract';
import type { Logger, WorkerConfig } from '@acp/kernel';
import { BrokenOff, Hands, type HeldTask } from './hands.ts';
import { watchControl } from './loops/control.ts';
import { sendHeartbeats } from './loops/heartbeat.ts';
import { pollForTasks } from './loops/poll.ts';
import { pause } from './service/backoff.ts';
import type { ControlPlane } from './service/control-plane.ts';
import { type Enlisted, enlist, type Enlisting } from './service/enlist.ts';
import type { Link } from './service/link.ts';
import type { Outbox } from './service/outbox.ts';
import { runTask, type TaskSettings } from './task/run-task.ts';

/** In milliseconds; by default as specified. */
export interface WorkerPace {
  heartbeat_ms: number;
  control_ms: number;
  /** Minimum time between two batches of events. */
  batch_ms: number;
  /** Maximum delay between attempts while the service refuses or is away. */
  most_wait_ms: number;
  request_timeout_ms: number;
}

interface ShiftSettings {
  config: WorkerConfig;
  logger: Logger;
  pace: WorkerPace;
  plane: ControlPlane;
  link: Link;
  outbox: Outbox;
  enlisting: Omit<Enlisting, 'plane' | 'link' | 'logger' | 'most_wait_ms'>;
  /** Parent folder of all tasks' homes. */
  root: string;
}

/** Time for programs of aborted tasks to end, and for the service to be notified. */
const FAREWELL_MS = 2000;

export class Shift {
  readonly #set: ShiftSettings;
  readonly #hands: Hands;
  readonly #draining = new AbortController();
  /** Aborted when nothing may be sent any more. */
  readonly #ending = new AbortController();
  readonly #tasks = new Set<Promise<void>>();
  /** Rejects only for a bug. */
  readonly ended: Promise<void>;

  constructor(settings: ShiftSettings) {
    this.#set = settings;
    this.#hands = new Hands(settings.config.worker_concurrency);
    this.ended = this.#work();
  }

  /** Stops accepting tasks. @returns those in hand */
  drain(): string[] {
    this.#draining.abort();
    return this.#hands.ids;
  }

  /** Aborts everything in progress without reporting it. Finished results stay in the outbox. */
  async breakOff(): Promise<void> {
    if (this.#ending.signal.aborted) return;
    const broken = this.#hands.working;
    for (const { abort } of broken) abort.abort(new BrokenOff('the worker stops'));
    await Promise.race([this.ended, pause(FAREWELL_MS, this.#ending.signal)]);
    // So that the service learns immediately that no one has these tasks.
    if (broken.length > 0) {
      const limit = AbortSignal.timeout(FAREWELL_MS);
      await this.#set.plane.heartbeat(this.#hands.ids, limit).catch(() => undefined);
    }
    this.#ending.abort();
  }

  /** Ends without notifying the service. */
  cutOff(): void {
    this.#ending.abort();
    for (const { abort } of this.#hands.working) abort.abort(new BrokenOff('the worker is killed'));
  }

  async #work(): Promise<void> {
    const { plane, link, logger, outbox, enlisting, pace } = this.#set;
    const hands = this.#hands;
    const left = (await outbox.left()).map((id) => hands.take(id, false));
    const asking = { ...enlisting, plane, link, logger, most_wait_ms: pace.most_wait_ms };
    const enlisted = await enlist(asking, this.#draining.signal);
    if (enlisted === undefined) return;
    if (left.length > 0)
      logger.warn('sending results from before the restart', { task_ids: left.map(({ id }) => id) });
    for (const held of left) this.#track(this.#deliver(held));
    const ending = this.#ending.signal;
    await Promise.all([
      sendHeartbeats({ plane, link, hands, every_ms: pace.heartbeat_ms }, ending),
      watchControl({ plane, link, hands, logger, every_ms: pace.control_ms }, ending),
      this.#takeTasks(enlisted),
    ]);
  }

  async #takeTasks(enlisted: Enlisted): Promise<void> {
    const { plane, link, logger, config, pace } = this.#set;
    const hands = this.#hands;
    const begin = (task: RemoteTask) => {
      // Begun again, it would take the first one's folder and place: what is in hand is ours once more, and is reported as before.
      if (hands.ids.includes(task.id)) logger.warn('a task in hand has come back', { task_id: task.id });
      else this.#track(this.#carryOut(enlisted, task, hands.take(task.id)));
    };
    const poll_ms = config.worker_poll_sec * 1000;
    const polling = { plane, link, hands, logger, poll_ms, most_wait_ms: pace.most_wait_ms, begin };
    await pollForTasks(polling, this.#draining.signal);
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
    this.#ending.abort();
  }

  async #carryOut({ operating_prompt }: Enlisted, task: RemoteTask, held: HeldTask): Promise<void> {
    const { config, logger, root, plane, link, pace, outbox } = this.#set;
    const { id, payload } = task;
    logger.info('a task begins', {
      task_id: id,
      run_id: payload.run_id,
      agent: payload.agent_name,
      issue: payload.issue?.identifier,
      adapter: payload.adapter_config.local_adapter_type ?? 'llm',
    });
    const events = { plane, link, batch_ms: pace.batch_ms };
    const settings: TaskSettings = { config, logger, root, operating_prompt, events };
    const { signal } = held.abort;
    const report = await runTask(settings, task, signal);
    if (report === undefined) {
      const reason = signal.reason instanceof BrokenOff ? signal.reason.message : 'unknown';
      logger.warn('a task was aborted', { task_id: id, reason });
      this.#hands.letGo(id);
      return;
    }
    if ('error' in report) logger.warn('a task has failed', { task_id: id, reason: report.error });
    // From here on it can't be cancelled: what was done is reported.
    held.working = false;
    await outbox.put(id, report);
    await this.#deliver(held);
  }

  async #deliver({ id }: HeldTask): Promise<void> {
    await this.#set.outbox.deliver(id, this.#ending.signal);
    this.#hands.letGo(id);
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#tasks.delete(tracked));
    this.#tasks.add(tracked);
  }
}
