import type { AdapterType } from './agents.ts';

/** What the engine needs to know about an adapter, so that no code compares adapter names. */
export interface AdapterTraits {
  /** Where turns are computed: a model endpoint, a program on the scheduler's machine, a cloud function, a worker. */
  readonly runs_as: 'model' | 'program' | 'function' | 'worker';
  /** Which of the operator's CLIs the program is; those have sessions. */
  readonly cli: 'a' | 'b' | null;
  /** The program runs in its own container. */
  readonly container: boolean;
  /** Gets a prompt in words for each turn, or the task payload once (specification, Task payload fields). */
  readonly told_by: 'prompt' | 'payload';
}

const program = { runs_as: 'program', told_by: 'prompt' } as const;

export const adapterTable: Readonly<Record<AdapterType, AdapterTraits>> = {
  llm: { runs_as: 'model', cli: null, container: false, told_by: 'prompt' },
  cli_a_local: { ...program, cli: 'a', container: false },
  cli_b_local: { ...program, cli: 'b', container: false },
  cli_a_sandbox: { ...program, cli: 'a', container: true },
  cli_b_sandbox: { ...program, cli: 'b', container: true },
  docker: { ...program, cli: null, container: true, told_by: 'payload' },
  lambda: { runs_as: 'function', cli: null, container: false, told_by: 'payload' },
  remote: { runs_as: 'worker', cli: null, container: false, told_by: 'payload' },
};

export function isAdapterType(type: string): type is AdapterType {
  return Object.hasOwn(adapterTable, type);
}

/** An empty or unknown type runs as `llm` (decisions 7.20). */
export function adapterTraits(type: string): AdapterTraits {
  return adapterTable[isAdapterType(type) ? type : 'llm'];
}
