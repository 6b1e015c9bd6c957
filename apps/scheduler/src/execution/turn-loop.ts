import type { AdapterEvent, AdapterTask } from '@acp/adapters';
import { verbByName } from '@acp/contract';
import type { Scrubber } from '@acp/kernel';
import type { AppliedAction } from '../verbs/apply.ts';
import { parse } from '../verbs/parse.ts';
import type { ParsedAction, ParsedOutput } from '../verbs/parse.ts';
import { bounded, storable } from './clean-text.ts';
import type { HeldRun } from './held-run.ts';
import { MAX_TURNS } from './prompt.ts';
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
  for (let turn = 1; turn <= MAX_TURNS; turn += 1) {
    const { system_prompt, ...told } = { system_prompt: prompt.system_prompt, turn, model: settings.model };
    settings.transcript.add('prompt', {
      ...told,
      ...(turn === 1 ? { system_prompt } : {}),
      content: messages.at(-1)!.content,
    });
    let text: string;
    try {
      await settings.reserve({ system_prompt, messages }, outcome.usage);
      text = await callModel(settings, { system_prompt, messages }, outcome);
    } catch (err) {
      settings.held.assertHeld();
      outcome.failure = failureOf(err);
      return;
    }
    const output = parse(text, ordinal);
    outcome.prose.push(output.prose);
    const applied = await applyAll(settings, output, outcome);
    ordinal += output.actions.length;
    if (!applied.some(({ verb }) => verbByName.get(verb)?.read === true)) return;
    if (turn === MAX_TURNS) settings.transcript.add('log', { message: `no more than ${MAX_TURNS} turns` });
    messages.push({ role: 'assistant', content: text }, { role: 'user', content: answersTo(applied) });
  }
}

/** One model call, streamed into the transcript. Gives its whole text, storable and scrubbed. */
async function callModel(
  { held, transcript, scrubber, execute }: TurnLoopSettings,
  turn: Pick<AdapterTask, 'system_prompt' | 'messages'>,
  outcome: TurnsOutcome,
): Promise<string> {
  let text = '';
  held.assertHeld();
  try {
    for await (const event of execute(turn, held.signal)) {
      if (event.kind === 'output') {
        text += event.text;
        await transcript.output(event.text);
      } else if (event.kind === 'usage') {
        // Also of a call that broke off: it had its price.
        outcome.usage.push({ ...event, usage_missing: event.usage_missing ?? false });
      } else {
        transcript.add('log', { message: event.message });
      }
    }
  } finally {
    transcript.endOutput();
  }
  held.assertHeld();
  return storable(scrubber.scrub(text));
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
    const line = `/${verb} ${String(args.line)}`.trim();
    if (!ok) return [`${line} failed: ${error ?? ''}`];
    return verbByName.get(verb)?.read === true ? [`Answer to ${line}:\n${result ?? ''}`] : [];
  });
  return bounded(parts.join('\n\n'), ANSWERS_LIMIT);
}
