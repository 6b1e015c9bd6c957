import type { KnowledgePassage, TaskPayload, VerbRow } from '@acp/contract';
import {
  type ClaimedRun,
  compiledIndexText,
  HEARTBEAT,
  type KnowledgeQuery,
  type PromptAgent,
} from '@acp/core';
import type { Tx } from '@acp/db';
import { setTimeout as delay } from 'node:timers/promises';
import { RunFailure } from '../run-failure.ts';

/** An image of a message; its bytes are in the storage. */
export interface PromptImage {
  filename: string;
  storage_key: string;
  size_bytes: number;
}

export interface Prompt {
  system_prompt: string;
  /** Earlier turns; none if absent. */
  history?: readonly { role: 'user' | 'assistant'; content: string; images?: readonly PromptImage[] }[];
  user_message: string;
  /** Only for `seeing_model`. */
  images?: readonly PromptImage[];
}

/** What executes the agent: a model called turn by turn, with or without images, or a program with its own tools. */
export type PromptReader = 'model' | 'seeing_model' | 'program';

/** Maximum number of turns, since read verbs give the agent another turn; a kind may allow fewer. */
export const MAX_TURNS = 5;

/** The scheduler's half of a kind: how its runs are prompted, and what the agent may do. */
interface KindRow<F extends { agent: PromptAgent }> {
  /** Must match the row in `core/src/run-kinds.ts`. */
  name: string;
  /** Everything the prompt is built from, in one snapshot; undefined if the agent or the subject is gone. */
  facts: (tx: Tx, run: ClaimedRun) => Promise<F | undefined>;
  /** False: something the facts should contain is on its way, so the run waits up to some seconds and reads them again. */
  ready?: (facts: F) => boolean;
  /** What to look up in the company's knowledge; if absent or null, nothing is looked up. */
  question?: (facts: F) => KnowledgeQuery | null;
  /** Whether the company has a promoted index to include in prompt and payload; if absent, none is included. */
  index?: (facts: F) => boolean;
  /** Pure: the same facts yield the same text. */
  prompt: (
    facts: F,
    reader: PromptReader,
    knowledge: readonly KnowledgePassage[],
    index: string | null,
  ) => Prompt;
  /** For programs and workers that take the task instead of a prompt; without it they can't run this kind. */
  payload?: (tx: Tx, run: ClaimedRun) => Promise<TaskPayload | undefined>;
  /** The verbs that are obeyed; the prompt mentions no others. */
  verbs: (verb: VerbRow) => boolean;
  /** Verbs are parsed but not applied: text and verbs are the run's result. For models only. */
  rehearses?: true;
  max_turns: number;
  /** CLIs continue the session of the agent's previous run; false: each run starts its own, which is not kept. */
  sessions: boolean;
  /** Someone is reading along: the first words of a turn are sent immediately instead of with the next batch. */
  awaited: boolean;
}

/** The facts read for a run. */
interface ReadFacts {
  agent: PromptAgent;
  ready: boolean;
  question: KnowledgeQuery | null;
  has_index: boolean;
  prompt: (reader: PromptReader, knowledge: readonly KnowledgePassage[], index: string | null) => Prompt;
}

/** Which agent a run is for, and what its prompt contains. */
export interface Work {
  agent: PromptAgent;
  /** What was found for the kind's question. */
  knowledge: readonly KnowledgePassage[];
  /** Markdown; null if nothing was promoted or the kind does not use it. */
  index: string | null;
  prompt: (reader: PromptReader) => Prompt;
}

/** A kind whose facts are opaque to everyone else. */
export interface ExecutionKind extends Omit<
  KindRow<never>,
  'facts' | 'ready' | 'question' | 'index' | 'prompt'
> {
  read: (tx: Tx, run: ClaimedRun) => Promise<ReadFacts | undefined>;
}

export function executionKind<F extends { agent: PromptAgent }>(row: KindRow<F>): ExecutionKind {
  const { facts: readFacts, ready, question, index: hasIndex, prompt, ...rest } = row;
  return {
    ...rest,
    read: async (tx, run) => {
      const facts = await readFacts(tx, run);
      return (
        facts && {
          agent: facts.agent,
          ready: ready?.(facts) ?? true,
          question: question?.(facts) ?? null,
          has_index: hasIndex?.(facts) ?? false,
          prompt: (reader, knowledge, index) => prompt(facts, reader, knowledge, index),
        }
      );
    },
  };
}

/** In milliseconds. A run waits no longer for late facts: its prompt says what is missing. */
const READY_WAIT = 5000;
const LOOK_EVERY = 500;

/** Searches a company's knowledge; returns as much as fits a prompt. */
export type Recall = (
  company_id: string,
  query: KnowledgeQuery,
  signal: AbortSignal,
) => Promise<KnowledgePassage[]>;

/** Throws RunFailure if the run's subject is gone. @param signal ends the wait for facts on their way */
export async function workOf(
  kind: ExecutionKind,
  { tx, recall }: { tx: Tx; recall: Recall },
  run: ClaimedRun,
  signal: AbortSignal,
): Promise<Work> {
  let facts = await kind.read(tx, run);
  for (
    let waited = 0;
    facts?.ready === false && waited < READY_WAIT && !signal.aborted;
    waited += LOOK_EVERY
  ) {
    await delay(LOOK_EVERY, undefined, { signal }).catch(() => undefined);
    facts = await kind.read(tx, run);
  }
  if (facts === undefined) throw new RunFailure('internal', 'the agent is gone');
  const { question, has_index, prompt } = facts;
  const agent = { ...facts.agent, model: chosenModel(run) ?? facts.agent.model };
  const knowledge = question === null ? [] : await recall(run.company_id, question, signal);
  const index = has_index ? await compiledIndexText(tx, run.company_id) : null;
  return { agent, knowledge, index, prompt: (reader) => prompt(reader, knowledge, index) };
}

/** The model chosen for this one heartbeat by whoever requested it. */
function chosenModel({ kind, payload: { model } }: ClaimedRun): string | null {
  return kind === HEARTBEAT && typeof model === 'string' ? model : null;
}

/** Throws RunFailure for a kind without a task payload. */
export async function readPayload(
  kind: ExecutionKind,
  tx: Tx,
  run: ClaimedRun,
  { knowledge, index }: Pick<Work, 'knowledge' | 'index'>,
): Promise<TaskPayload> {
  if (kind.payload === undefined)
    throw new RunFailure('config', `adapter ${run.adapter_type} can't run work of the kind ${kind.name}`);
  const payload = await kind.payload(tx, run);
  if (payload === undefined) throw new RunFailure('internal', 'the agent is gone');
  const passages = knowledge.map(({ source_type: source, ...passage }) => ({ source, ...passage }));
  return {
    ...payload,
    ...(passages.length === 0 ? {} : { knowledge: passages }),
    ...(index === null ? {} : { compiled_index: index }),
  };
}
