import type { RunResult } from '@acp/core';
import { Counter, Gauge, Histogram, type Metric, register } from 'prom-client';

const SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 1200, 3600];

const runs = metric(
  'service_runs_ended_total',
  (name) =>
    new Counter({
      name,
      help: 'Runs that ended here, by kind and what became of them',
      labelNames: ['kind', 'outcome'],
    }),
);
const runSeconds = metric(
  'service_run_duration_seconds',
  (name) => new Histogram({ name, help: 'From claim to end', labelNames: ['kind'], buckets: SECONDS }),
);
const calls = metric(
  'service_model_calls_total',
  (name) =>
    new Counter({
      name,
      help: 'Calls of models and programs, by the kind of provider and outcome',
      labelNames: ['provider', 'outcome'],
    }),
);
const callSeconds = metric(
  'service_model_call_duration_seconds',
  (name) =>
    new Histogram({
      name,
      help: 'From call to the end of its answer',
      labelNames: ['provider'],
      buckets: SECONDS,
    }),
);
const tokens = metric(
  'service_model_tokens_total',
  (name) => new Counter({ name, help: 'Tokens of models', labelNames: ['provider', 'type'] }),
);
const endedForDisk = metric(
  'service_programs_ended_for_disk_total',
  (name) =>
    new Counter({ name, help: 'Runs and other programs that were ended because they filled the disk' }),
);
const slots = metric(
  'service_run_slots',
  (name) =>
    new Gauge({ name, help: 'Runs that this process may execute at once, and does', labelNames: ['state'] }),
);

/** Counted as `succeeded`, or by the category of its failure. */
export function countRun(kind: string, { failure }: Pick<RunResult, 'failure'>, seconds: number): void {
  runs.inc({ kind, outcome: failure === null ? 'succeeded' : failure.category });
  runSeconds.observe({ kind }, seconds);
}

/** @param outcome `ok`, or the category of the error */
export function countCall(
  provider: string,
  outcome: string,
  seconds: number,
  used: { input_tokens: number; output_tokens: number },
): void {
  calls.inc({ provider, outcome });
  callSeconds.observe({ provider }, seconds);
  tokens.inc({ provider, type: 'input' }, used.input_tokens);
  tokens.inc({ provider, type: 'output' }, used.output_tokens);
}

/** A program was ended that filled the disk. */
export function countEndedForDisk(): void {
  endedForDisk.inc();
}

export function showSlots(size: number, busy: number): void {
  slots.set({ state: 'all' }, size);
  slots.set({ state: 'busy' }, busy);
}

/** Several schedulers in one process (tests) share the process's registry. */
function metric<T extends Metric>(name: string, make: (name: string) => T): T {
  return (register.getSingleMetric(name) as T | undefined) ?? make(name);
}
