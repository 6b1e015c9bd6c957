import type { AdapterEvent, AdapterTask, CliSession } from '@acp/adapters';
import { verbByName, verbLine } from '@acp/contract';
import { storableText } from '@acp/kernel';
import type { Scrubber } from '@acp/kernel';
import type { AppliedAction } from '../verbs/apply.ts';
import { parse } from '../verbs/parse.ts';
import type { ParsedAction, ParsedOutput } from '../verbs/parse.ts';
import { bounded } from './clean-text.ts';
import type { HeldRun } from './held-run.ts';
import type { Prompt } from './prompt.ts';
import { failureOf } from './run-failure.ts';
import type { RunFailure } from './run-failure.ts';
import type { Transcript } from './transcript.ts';
import type { TurnUsage } from './usage.ts';

type Message = AdapterTask['messages'][number];

export interface TurnLoopSettings {
  held: HeldRun;
  transcript: Transcript;
  scrubber: Scrubber;
  model: string;
  max_turns: number;
  execute: (
    turn: Pick<AdapterTask, 'system_prompt' | 'messages'>,
    signal: AbortSignal,
  ) => AsyncIterable<AdapterEvent>;
  apply: (action: ParsedAction) => Promise<AppliedAction>;
  /** Before each call, with what the run has used so far. Throws where its budgets have no money for it. */
  reserve: (
    turn: Pick<AdapterTask, 'system_prompt' | 'messages'>,
    usage: readonly TurnUsage[],
  ) => Promise<void>;
}

/** What the turns came to; also of a run that was stopped or failed on its way. */
export interface TurnsOutcome {
  /** Of each complete turn, without verb lines. */
  prose: string[];
  usage: TurnUsage[];
  /** A verb made something different. */
  changed: boolean;
  failure: RunFailure | null;
  /** What the agent's next run goes on from; undefined: the adapter has said nothing of one. */
  session?: CliSession | null;
  /** Which session the run began with. */
  session_version?: string | null;
  /** For the cost event. */
  provider?: string;
  /** The company's, which a used-up quota pauses. */
  provider_id?: string | null;
  /** The run goes on elsewhere: its end is not written here. */
  handed_over?: boolean;
}

/** More verbs than any sane run has; what a model repeats for ever ends here. */
const MAX_ACTIONS = 200;
/** In characters, of all answers of read verbs in one turn. */
const ANSWERS_LIMIT = 60_000;

/**
 * Model calls and verbs in turn, until a turn asks nothing. What ends it early (an adapter's error, a stop) is put into
 * `outcome.failure`, or thrown as RunStopped, with `outcome` filled as far as it went.
 */
export async function runTurns(
  settings: TurnLoopSettings,
  prompt: Prompt,
  outcome: TurnsOutcome,
): Promise<void> {
  const messages: Message[] = [{ role: 'user', content: prompt.user_message }];
  let ordinal = 1;
  for (let turn = 1; turn <= settings.max_turns; turn += 1) {
    const { system_prompt, ...told } = { system_prompt: prompt.system_prompt, turn, model: settings.model };
    settings.transcript.add('prompt', {
      ...told,
      ...(turn === 1 ? { system_prompt } : {}),
      content: messages.at(-1)!.content,
    });
    let texts: string[];
    try {
      await settings.reserve({ system_prompt, messages }, outcome.usage);
      texts = await callModel(settings, { system_prompt, messages }, outcome);
    } catch (err) {
      settings.held.assertHeld();
      outcome.failure = failureOf(err);
      return;
    }
    const outputs = parseAll(texts, ordinal);
    // The last message that says something is the answer; what came before was said on the way.
    outcome.prose.push(outputs.findLast(({ prose }) => prose !== '')?.prose ?? '');
    const applied: AppliedAction[] = [];
    for (const output of outputs) {
      applied.push(...(await applyAll(settings, output, outcome)));
      ordinal += output.actions.length;
    }
    if (!applied.some(({ verb }) => verbByName.get(verb)?.read === true)) return;
    if (turn === settings.max_turns) {
      settings.transcript.add('log', { message: `no more than ${settings.max_turns} turns` });
    }
    messages.push(
      { role: 'assistant', content: texts.join('\n\n') },
      { role: 'user', content: answersTo(applied) },
    );
  }
}

/** The verbs of all messages are counted on. */
function parseAll(texts: readonly string[], first: number): ParsedOutput[] {
  let ordinal = first;
  return texts.map((text) => {
    const output = parse(text, ordinal);
    ordinal += output.actions.length;
    return output;
  });
}

/** One call, streamed into the transcript. Gives the text of each of its messages, storable and scrubbed. */
async function callModel(
  { held, transcript, scrubber, execute }: TurnLoopSettings,
  turn: Pick<AdapterTask, 'system_prompt' | 'messages'>,
  outcome: TurnsOutcome,
): Promise<string[]> {
  const texts = [''];
  held.assertHeld();
  try {
    for await (const event of execute(turn, held.signal)) {
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
          // Also of a call that broke off: it had its price.
          outcome.usage.push({ ...event, usage_missing: event.usage_missing ?? false });
          break;
        case 'session':
          outcome.session = event.session;
          break;
        default: {
          const { kind, ...entry } = event;
          transcript.add(kind, entry);
        }
      }
    }
  } finally {
    transcript.endOutput();
  }
  held.assertHeld();
  return texts.map((text) => storableText(scrubber.scrub(text)));
}

async function applyAll(
  { held, transcript, apply }: TurnLoopSettings,
  { actions, unknown }: ParsedOutput,
  outcome: TurnsOutcome,
): Promise<AppliedAction[]> {
  for (const { word, line } of unknown) {
    transcript.add('log', { message: `/${word} in line ${line} is no verb: it was taken as text` });
  }
  const applied: AppliedAction[] = [];
  for (const action of actions) {
    if (action.ordinal > MAX_ACTIONS) {
      transcript.add('error', {
        message: `a run has no more than ${MAX_ACTIONS} verbs: the rest was left out`,
      });
      break;
    }
    held.assertHeld();
    const done = await apply(action);
    applied.push(done);
    outcome.changed ||= done.changed;
    const { result, changed: _, ...entry } = done;
    transcript.add('action', { ...entry, result: result === null ? null : bounded(result, 2000) });
  }
  return applied;
}

/** The next message to the agent: what it asked, and in a line each what was refused. */
function answersTo(applied: readonly AppliedAction[]): string {
  const parts = applied.flatMap(({ verb, args, ok, result, error }) => {
    const line = verbLine({ verb, args });
    if (!ok) return [`${line} failed: ${error ?? ''}`];
    return verbByName.get(verb)?.read === true ? [`Answer to ${line}:\n${result ?? ''}`] : [];
  });
  return bounded(parts.join('\n\n'), ANSWERS_LIMIT);
}
