import { verbByName, type VerbRow } from '@acp/contract';
import type { AppliedAction } from '../verbs/apply.ts';
import { parse } from '../verbs/parse.ts';
import type { ParsedAction, ParsedOutput } from '../verbs/parse.ts';
import { bounded } from '@acp/kernel';
import type { HeldRun } from './held-run.ts';
import type { Transcript } from './transcript.ts';

interface ApplyTextsSettings {
  held: HeldRun;
  transcript: Transcript;
  apply: (action: ParsedAction) => Promise<AppliedAction>;
  /** Lines of other verbs are text. Default: all. */
  obeys?: (verb: VerbRow) => boolean;
}

/** The outcome of one turn's messages, as far as processing got. */
interface AppliedTexts {
  /** The last message with text is the answer; earlier ones are interim remarks. */
  prose: string;
  actions: AppliedAction[];
  /** A verb changed something. */
  changed: boolean;
  /** First ordinal of the next turn. */
  next_ordinal: number;
  /** What was thrown on the way (RunStopped, or a verb that could not be recorded); null if everything was applied. */
  stopped: unknown;
}

/** More verbs than any sane run has; stops a model that repeats itself forever. */
const MAX_ACTIONS = 200;

/**
 * Applies the verbs of the messages in order, numbered from `first`. Never rejects.
 * @param ordinals `from`: verbs below it have already taken effect and are skipped
 */
export async function applyTexts(
  settings: ApplyTextsSettings,
  texts: readonly string[],
  { first, from }: { first: number; from: number },
): Promise<AppliedTexts> {
  const outputs = parseAll(texts, first, settings.obeys);
  const done: AppliedTexts = {
    prose: outputs.findLast(({ prose }) => prose !== '')?.prose ?? '',
    actions: [],
    changed: false,
    next_ordinal: outputs.at(-1)?.next_ordinal ?? first,
    stopped: null,
  };
  try {
    for (const output of outputs) await applyOutput(settings, output, from, done);
  } catch (err) {
    done.stopped = err;
  }
  return done;
}

/** The text of the messages without their verbs, none of which is applied. */
export function proseOf(texts: readonly string[]): string | null {
  return parseAll(texts, 1).findLast(({ prose }) => prose !== '')?.prose ?? null;
}

/** Whether the model is told what came of the verb, in another turn. */
export const isRead = (verb: string): boolean => verbByName.get(verb)?.read === true;

/** Whether there is such a verb. */
export const wantsAnswer = (texts: readonly string[]): boolean =>
  parseAll(texts, 1).some(({ actions }) => actions.some(({ verb }) => isRead(verb)));

/** Numbers the verbs consecutively across all messages. */
function parseAll(
  texts: readonly string[],
  first: number,
  obeys?: (verb: VerbRow) => boolean,
): ParsedOutput[] {
  let ordinal = first;
  return texts.map((text) => {
    const output = parse(text, ordinal, obeys);
    ordinal = output.next_ordinal;
    return output;
  });
}

async function applyOutput(
  { held, transcript, apply }: ApplyTextsSettings,
  { actions, unknown }: ParsedOutput,
  from: number,
  done: AppliedTexts,
): Promise<void> {
  for (const { word, line, reason } of unknown) {
    transcript.add('log', { message: `/${word} in line ${line} was taken as text: ${reason}` });
  }
  for (const action of actions.filter(({ ordinal }) => ordinal >= from)) {
    if (action.ordinal > MAX_ACTIONS) {
      transcript.add('error', {
        message: `a run has no more than ${MAX_ACTIONS} verbs: the rest was left out`,
      });
      break;
    }
    held.assertHeld();
    const applied = await apply(action);
    done.actions.push(applied);
    done.changed ||= applied.changed;
    const { result, changed: _, ...entry } = applied;
    transcript.add('action', { ...entry, result: result === null ? null : bounded(result, 2000) });
  }
}
