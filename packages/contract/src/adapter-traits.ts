import type { AdapterType } from './agents.ts';

/** What the engine has to know of an adapter; nothing asks for one by its name. */
export interface AdapterTraits {
  /** What computes the turns: a model's endpoint, a program on the scheduler's machine, a cloud function, a worker. */
  readonly runs_as: 'model' | 'program' | 'function' | 'worker';
  /** Which of the operator's command lines the program is: those keep sessions. */
  readonly cli: 'a' | 'b' | null;
  /** The program has a container of its own. */
  readonly container: boolean;
  /** Told in words, turn by turn, or once by the task payload (specification, Task payload fields). */
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
