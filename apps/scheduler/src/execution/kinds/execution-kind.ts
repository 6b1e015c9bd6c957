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

/** Of a message, with its bytes in the storage. */
export interface PromptImage {
  filename: string;
  storage_key: string;
}

export interface Prompt {
  system_prompt: string;
  /** What was said before, in turns; nothing unless said. */
  history?: readonly { role: 'user' | 'assistant'; content: string; images?: readonly PromptImage[] }[];
  user_message: string;
  /** For `seeing_model` alone. */
  images?: readonly PromptImage[];
}

/** What executes the agent: a model that is asked turn by turn, with or without images, or a program with tools of its own. */
export type PromptReader = 'model' | 'seeing_model' | 'program';

/** Read verbs give the agent another turn; so many in all, unless a kind has fewer. */
export const MAX_TURNS = 5;

/** The scheduler's half of a kind: how a run of it is told to its agent, and what the agent may do. */
interface KindRow<F extends { agent: PromptAgent }> {
  /** As the row of `core/src/run-kinds.ts`. */
  name: string;
  /** All that the prompt is made of, from one snapshot; undefined where the agent or the subject is gone. */
  facts: (tx: Tx, run: ClaimedRun) => Promise<F | undefined>;
  /** False: something that the facts should hold is on its way; the run waits some seconds and reads them again. */
  ready?: (facts: F) => boolean;
  /** What to look up in the company's knowledge; without it, or where it is null, nothing is. */
  question?: (facts: F) => KnowledgeQuery | null;
  /** Whether there is a promoted index of the company, to stand in the prompt and in the payload; without it, none does. */
  index?: (facts: F) => boolean;
  /** Pure: the same facts give the same text. */
  prompt: (
    facts: F,
    reader: PromptReader,
    knowledge: readonly KnowledgePassage[],
    index: string | null,
  ) => Prompt;
  /** For programs and workers that take no prompt but the task; without it they can't run this kind. */
  payload?: (tx: Tx, run: ClaimedRun) => Promise<TaskPayload | undefined>;
  /** Verbs that are obeyed; the prompt tells of no others. */
  verbs: (verb: VerbRow) => boolean;
  /** Verbs are read and none is applied: text and verbs are what the run comes to. For models alone. */
  rehearses?: true;
  max_turns: number;
  /** CLIs go on in the session of the agent's run before; false: each run begins a session of its own, which is not kept. */
  sessions: boolean;
  /** Somebody reads along: the first words of a turn are told at once, instead of with the next batch. */
  awaited: boolean;
}

/** The facts of a run, read. */
interface ReadFacts {
  agent: PromptAgent;
  ready: boolean;
  question: KnowledgeQuery | null;
  has_index: boolean;
  prompt: (reader: PromptReader, knowledge: readonly KnowledgePassage[], index: string | null) => Prompt;
}

/** For whom a run is, and what it is told. */
export interface Work {
  agent: PromptAgent;
  /** What was found of the kind's question. */
  knowledge: readonly KnowledgePassage[];
  /** Markdown; null where nothing was promoted, or the kind has no use for it. */
  index: string | null;
  prompt: (reader: PromptReader) => Prompt;
}

/** A kind whose facts nobody else looks into. */
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

/** In milliseconds. Longer no run waits for what may come late: its prompt says what is missing. */
const READY_WAIT = 5000;
const LOOK_EVERY = 500;

/** Finds what a company knows of a question, as much as a prompt takes. */
export type Recall = (
  company_id: string,
  query: KnowledgeQuery,
  signal: AbortSignal,
) => Promise<KnowledgePassage[]>;

/** Throws RunFailure where what the run is about is gone. @param signal ends the wait for what is on its way */
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

/** What whoever asked for the heartbeat chose for it alone. */
function chosenModel({ kind, payload: { model } }: ClaimedRun): string | null {
  return kind === HEARTBEAT && typeof model === 'string' ? model : null;
}

/** Throws RunFailure for a kind that has no task payload. */
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
  const told = knowledge.map(({ source_type: source, ...passage }) => ({ source, ...passage }));
  return {
    ...payload,
    ...(told.length === 0 ? {} : { knowledge: told }),
    ...(index === null ? {} : { compiled_index: index }),
  };
}
