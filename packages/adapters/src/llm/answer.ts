import type {
  FinishReason,
  LanguageModel,
  LanguageModelUsage,
  ModelMessage,
  TextStreamPart,
  ToolSet,
  Warning,
} from 'ai';
import type { AdapterEvent } from '../task.ts';
import type { CallWatch } from './call-watch.ts';
import { brokenOff } from './failure.ts';
import { callingBy } from './kept-models.ts';
import type { Prompt } from './prompt.ts';
import { estimatedUsage, reportedUsage } from './usage.ts';
import { lengthOf } from './prompt.ts';

export interface Question {
  model: LanguageModel;
  /** Used for all requests of the call. */
  fetch: typeof fetch;
  /** The model name recorded with the usage. */
  model_name: string;
  prompt: Prompt;
  max_output_tokens: number;
}

/** Average over a whole answer, in characters: no model that respects its limit is cut off here. */
const LONGEST_TOKEN = 8;
/** No model is offered tools, and few call one that they know from elsewhere; the library's work grows with the calls' square. */
const MOST_CALLS = 64;

/** State of a call, needed if it fails. */
export interface Progress {
  /** The model has begun to answer, even if only with hidden reasoning: nothing is retried from here on. */
  started: boolean;
  /** In characters, including hidden reasoning as far as it is sent. */
  output_length: number;
}

async function library() {
  const sdk = await import('ai');
  // It would print warnings to the console; ours go to the transcript.
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  return sdk;
}

function optionsOf({ model, prompt, max_output_tokens: maxOutputTokens }: Question, watch: CallWatch) {
  const { instructions } = prompt;
  const messages = prompt.messages.map(sentMessage);
  // Retrying is up to us: see retry.ts.
  return { model, instructions, messages, maxOutputTokens, maxRetries: 0, abortSignal: watch.signal };
}

function sentMessage({ role, content, images }: Prompt['messages'][number]): ModelMessage {
  if (role === 'assistant' || images.length === 0) return { role, content };
  const shown = images.map(({ bytes: data, media_type: mediaType, filename }) => ({
    type: 'file' as const,
    data,
    mediaType,
    filename,
  }));
  return {
    role,
    content: [...(content.trim() === '' ? [] : [{ type: 'text' as const, text: content }]), ...shown],
  };
}

function* warningEvents(warnings: readonly Warning[] | undefined): Iterable<AdapterEvent> {
  for (const warning of warnings ?? []) {
    const what = 'feature' in warning ? warning.feature : 'message' in warning ? warning.message : '';
    yield { kind: 'log', message: `${warning.type}: ${what}` };
  }
}

interface Ending {
  usage: LanguageModelUsage;
  finishReason: FinishReason;
  rawFinishReason: string | undefined;
}

function* endingEvents(ending: Ending, question: Question, progress: Progress): Iterable<AdapterEvent> {
  const { model_name: model, prompt } = question;
  // Checked before mapping: a response without a finish reason was cut off.
  if (ending.rawFinishReason === undefined) throw brokenOff();
  if (ending.finishReason === 'length')
    yield { kind: 'log', message: 'the answer was cut off at max_output_tokens' };
  if (ending.finishReason === 'content-filter')
    yield { kind: 'log', message: 'the provider filtered the answer' };
  const usage = reportedUsage(model, ending.usage);
  yield usage ?? estimatedUsage(model, lengthOf(prompt), progress.output_length);
}

/** As if it had ended at max_output_tokens on its own: more would cost money that no one has reserved. */
function* cutOff({ model_name, prompt }: Question, { output_length }: Progress): Iterable<AdapterEvent> {
  yield { kind: 'log', message: 'the endpoint does not keep to max_output_tokens: the answer was cut off' };
  yield estimatedUsage(model_name, lengthOf(prompt), output_length);
}

/** What costs output tokens: the answer, hidden reasoning, and the arguments of tools. */
function textIn(part: TextStreamPart<ToolSet>): string {
  if (part.type === 'tool-input-delta') return part.delta;
  return part.type === 'text-delta' || part.type === 'reasoning-delta' ? part.text : '';
}

/** The answer as it streams in, then its usage. */
export async function* streamedAnswer(
  question: Question,
  watch: CallWatch,
  progress: Progress,
): AsyncGenerator<AdapterEvent, void> {
  const { experimental_streamTextLowMemory: streamText } = await library();
  // Errors arrive as parts of the stream; the default handler would print them.
  const options = { ...optionsOf(question, watch), onError: () => undefined };
  const { stream } = callingBy(question.fetch, () => streamText(options));
  const reader = stream.getReader();
  let calls = 0;
  try {
    for (;;) {
      const { done, value: part } = await watch.unlessOver(reader.read());
      if (done) throw brokenOff();
      const text = textIn(part);
      if (text !== '') {
        progress.started = true;
        progress.output_length += text.length;
        if (part.type === 'text-delta') yield { kind: 'output', text };
      }
      if (part.type === 'tool-input-start') calls += 1;
      if (calls > MOST_CALLS || progress.output_length > question.max_output_tokens * LONGEST_TOKEN) {
        yield* cutOff(question, progress);
        return;
      }
      if (part.type === 'start-step') yield* warningEvents(part.warnings);
      else if (part.type === 'error') throw part.error;
      else if (part.type === 'abort') watch.check();
      else if (part.type === 'finish') {
        yield* endingEvents({ ...part, usage: part.totalUsage }, question, progress);
        return;
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** The answer in one piece. */
export async function* wholeAnswer(
  question: Question,
  watch: CallWatch,
  progress: Progress,
): AsyncGenerator<AdapterEvent, void> {
  const { generateText } = await library();
  const options = optionsOf(question, watch);
  const answer = await watch.unlessOver(callingBy(question.fetch, async () => generateText(options)));
  progress.started = true;
  progress.output_length = answer.text.length;
  yield* warningEvents(answer.warnings);
  if (answer.text !== '') yield { kind: 'output', text: answer.text };
  yield* endingEvents(answer, question, progress);
}
