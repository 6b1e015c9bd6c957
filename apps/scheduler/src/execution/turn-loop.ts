import type { AdapterEvent, AdapterTask, CliSession } from '@acp/adapters';
import { type TurnUsage as LoggedUsage, verbLine } from '@acp/contract';
import { bounded, storableText } from '@acp/kernel';
import type { AppliedAction } from '../verbs/apply.ts';
import type { RehearsedVerb, RunUsage } from '@acp/core';
import type { ParsedAction } from '../verbs/parse.ts';
import { applyTexts, isRead, proseOf, wantsAnswer } from './apply-texts.ts';
import { failureOf } from './run-failure.ts';
import type { RunFailure } from './run-failure.ts';
import type { RunParts } from './run-parts.ts';
import type { TurnUsage } from './usage.ts';

type Message = AdapterTask['messages'][number];
type Turn = Pick<AdapterTask, 'system_prompt' | 'messages'>;

interface TurnLoopSettings extends RunParts {
  model: string;
  max_turns: number;
  /** `session`: what the previous turn left behind; undefined if it reported none. */
  execute: (turn: Turn, signal: AbortSignal, session: Turns['session']) => AsyncIterable<AdapterEvent>;
  apply: (action: ParsedAction) => Promise<AppliedAction>;
  /** Replaces `apply` in a rehearsal: returns what the verbs of a text would have met. */
  rehearse: ((text: string) => RehearsedVerb[]) | undefined;
  /** Called before each call with the run's usage so far. Throws if its budgets have no money for it. */
  reserve: (turn: Turn, usage: readonly TurnUsage[]) => Promise<void>;
  /** The usage of a turn at its price; null if it called no model. */
  priced: (usage: readonly TurnUsage[]) => RunUsage | null;
}

/** The result of the turns; for a run that was stopped or failed, as far as it got. */
export interface Turns {
  /** Text of each complete turn, without verb lines. */
  prose: string[];
  /** What an interrupted turn had said by then. */
  partial: string | null;
  usage: TurnUsage[];
  /** A verb changed something. */
  changed: boolean;
  failure: RunFailure | null;
  /** Only set by a rehearsal. */
  rehearsed?: RehearsedVerb[];
  /** The session the agent's next run continues; undefined: the adapter reported none. */
  session?: CliSession | null;
}

export const noTurns: Turns = { prose: [], partial: null, usage: [], changed: false, failure: null };

/** In characters, for all answers of read verbs in one turn. */
const ANSWERS_LIMIT = 60_000;

/** Alternates model calls and verbs until a turn asks nothing. Never rejects: an early end is reported as its `failure`. */
export async function runTurns(settings: TurnLoopSettings, first: Turn): Promise<Turns> {
  const turns: Turns = { prose: [], partial: null, usage: [], changed: false, failure: null };
  try {
    await runUntilDone(settings, first, turns);
  } catch (err) {
    turns.failure = failureOf(err);
  }
  return turns;
}

async function runUntilDone(
  settings: TurnLoopSettings,
  { system_prompt, messages: begin }: Turn,
  turns: Turns,
): Promise<void> {
  const { transcript, held, max_turns, model } = settings;
  const messages: Message[] = [...begin];
  let first = 1;
  for (let turn = 1; turn <= max_turns; turn += 1) {
    const { content } = messages.at(-1)!;
    const used = turns.usage.length;
    transcript.add('prompt', { turn, model, ...(turn === 1 ? { system_prompt } : {}), content });
    const texts = await callModel(settings, { system_prompt, messages }, turns);
    if (settings.rehearse !== undefined) return rehearseTexts(settings, settings.rehearse, texts, turns);
    // Before the verbs, which may take minutes.
    if (turn > 1 || wantsAnswer(texts)) logTurnUsage(settings, turn, turns.usage.slice(used));
    const { actions, prose, changed, stopped, next_ordinal } = await applyTexts(settings, texts, {
      first,
      from: first,
    });
    turns.prose.push(prose);
    turns.changed ||= changed;
    if (stopped !== null) throw stopped;
    first = next_ordinal;
    if (!actions.some(({ verb }) => isRead(verb))) return;
    if (turn === max_turns) transcript.add('log', { message: `no more than ${max_turns} turns` });
    messages.push(
      { role: 'assistant', content: texts.join('\n\n') },
      { role: 'user', content: renderOutcomes(actions) },
    );
    held.assertHeld();
  }
}

/**
 * Logs the usage of each turn if there are several; a single turn's usage is the run's. `listRunSteps` reads it, and the sweep if the
 * run is lost.
 */
function logTurnUsage(
  { transcript, priced }: TurnLoopSettings,
  turn: number,
  usage: readonly TurnUsage[],
): void {
  const used = priced(usage);
  if (used === null) return;
  const { input_tokens, output_tokens, cached_tokens, cost_usd } = used;
  const logged: LoggedUsage = { ...used, cost_usd: Number(cost_usd) };
  transcript.add('log', {
    message: `turn ${turn} read ${input_tokens} tokens, ${cached_tokens} of them from the cache, and wrote ${output_tokens}`,
    usage: logged,
  });
}

/** Text and verbs stay together as the result. Verbs get no answers, so there is no other turn. */
function rehearseTexts(
  { transcript }: TurnLoopSettings,
  rehearse: (text: string) => RehearsedVerb[],
  texts: readonly string[],
  turns: Turns,
): void {
  const text = texts.join('\n\n');
  turns.prose.push(text);
  turns.rehearsed = rehearse(text);
  for (const { line, error } of turns.rehearsed)
    transcript.add('log', {
      message: `${line} was read and not applied${error === null ? '' : `: ${error}`}`,
    });
}

/** Makes one call, streamed into the transcript. Returns the text of each message, storable and scrubbed. */
async function callModel(
  { held, transcript, scrubber, execute, reserve }: TurnLoopSettings,
  turn: Turn,
  turns: Turns,
): Promise<string[]> {
  const texts = [''];
  const clean = (text: string) => storableText(scrubber.scrub(text));
  await reserve(turn, turns.usage);
  held.assertHeld();
  try {
    for await (const event of execute(turn, held.signal, turns.session)) {
      switch (event.kind) {
        case 'output':
          texts.push(`${texts.pop() ?? ''}${event.text}`);
          await transcript.output(event.text);
          break;
        case 'boundary':
          texts.push('');
          transcript.endOutput();
          break;
        case 'usage':
          // Includes an interrupted call, which has its price, too.
          turns.usage.push({ ...event, usage_missing: event.usage_missing ?? false });
          break;
        case 'session':
          turns.session = event.session;
          break;
        default: {
          const { kind, ...entry } = event;
          transcript.add(kind, entry);
        }
      }
    }
  } catch (err) {
    turns.partial = proseOf(texts.map(clean));
    throw err;
  } finally {
    transcript.endOutput();
  }
  if (held.signal.aborted) turns.partial = proseOf(texts.map(clean));
  held.assertHeld();
  return texts.map(clean);
}

/** Builds the next message to the agent: its answers, and one line for each refusal. */
function renderOutcomes(applied: readonly AppliedAction[]): string {
  const parts = applied.flatMap(({ verb, args, ok, result, error }) => {
    const line = verbLine({ verb, args });
    if (!ok) return [`${line} failed: ${error ?? ''}`];
    return isRead(verb) ? [`Answer to ${line}:\n${result ?? ''}`] : [];
  });
  return bounded(parts.join('\n\n'), ANSWERS_LIMIT);
}
