import { cutText, storableText } from '@acp/kernel';
import { estimatedUsage, type CallLimit } from './llm/usage.ts';
import type { AdapterEvent, AdapterTask, CliSession, SessionTotals, UsageEvent } from './task.ts';

/** UTF-16 units per turn. Far more than any answer; output of a program that never stops is not kept in full. */
const MOST_OUTPUT = 4_000_000;
/** The database's limit for one report. */
const MOST_TOKENS = 2 ** 31 - 1;
const MOST_COST_USD = 100_000;
/** In bytes. */
const LONGEST_NAME = 200;
const LONGEST_SESSION_ID = 500;

/** Limits what a model, program or function reports to what can be stored and believed. */
export async function* cleanEvents(
  task: Pick<AdapterTask, 'system_prompt' | 'messages'>,
  events: AsyncIterable<AdapterEvent>,
  limit: CallLimit | null,
): AsyncGenerator<AdapterEvent, void> {
  let output = 0;
  for await (const event of events) {
    switch (event.kind) {
      case 'output': {
        const room = MOST_OUTPUT - output;
        if (room > 0) yield event.text.length <= room ? event : { ...event, text: event.text.slice(0, room) };
        output += event.text.length;
        if (room > 0 && output >= MOST_OUTPUT)
          yield { kind: 'log', message: 'the output is too long: the rest is left out' };
        break;
      }
      case 'usage':
        yield* cleanUsage(event, promptLength(task), output, limit);
        break;
      case 'session':
        yield { kind: 'session', session: event.session === null ? null : cleanSession(event.session) };
        break;
      case 'boundary':
        // Between messages that are left out there is none.
        if (output < MOST_OUTPUT) yield event;
        break;
      default:
        yield event;
    }
  }
}

/**
 * An implausible usage report is replaced by the estimate, so it neither fails the run nor makes it free. For a model call the
 * report is capped at what the call can have used, which is what budgets reserve for it.
 */
function* cleanUsage(
  event: UsageEvent,
  prompt: number,
  output: number,
  limit: CallLimit | null,
): Generator<AdapterEvent, void> {
  const model = cutText(storableText(event.model), LONGEST_NAME) || 'unknown';
  let usage: UsageEvent = { ...event, model };
  if (!isCount(event.input_tokens) || !isCount(event.output_tokens)) {
    const reported = `${event.input_tokens} input and ${event.output_tokens} output tokens`;
    yield { kind: 'log', message: `${reported} were reported: an estimate is booked instead` };
    usage = estimatedUsage(model, prompt, output);
  }
  if (usage.cost_usd !== undefined && !(usage.cost_usd >= 0 && usage.cost_usd <= MOST_COST_USD)) {
    yield { kind: 'log', message: `a cost of ${usage.cost_usd} USD was reported: the model’s price counts` };
    delete usage.cost_usd;
  }
  const { input_tokens, output_tokens } = usage;
  const tooMany =
    limit !== null && (input_tokens > limit.input_tokens || output_tokens > limit.output_tokens);
  if (tooMany) {
    if (usage.usage_missing !== true) {
      const reported = `${input_tokens} input and ${output_tokens} output tokens`;
      yield {
        kind: 'log',
        message: `${reported} are more than the call can have had: what it can is booked`,
      };
    }
    usage.input_tokens = Math.min(input_tokens, limit.input_tokens);
    usage.output_tokens = Math.min(output_tokens, limit.output_tokens);
  }
  const cached = isCount(usage.cached_tokens) ? usage.cached_tokens : 0;
  yield { ...usage, cached_tokens: Math.min(cached, usage.input_tokens) };
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MOST_TOKENS;
}

/** Null for an id that can't be passed back to the program unchanged. */
function cleanSession({ id, cwd, totals }: CliSession): CliSession | null {
  if (id === '' || cutText(storableText(id), LONGEST_SESSION_ID) !== id) return null;
  const clean = (field: keyof SessionTotals): number =>
    totals[field] >= 0 && totals[field] <= Number.MAX_SAFE_INTEGER ? totals[field] : 0;
  return {
    id,
    cwd,
    totals: {
      input_tokens: clean('input_tokens'),
      output_tokens: clean('output_tokens'),
      cached_tokens: clean('cached_tokens'),
      cost_usd: clean('cost_usd'),
    },
  };
}

function promptLength({ system_prompt, messages }: Pick<AdapterTask, 'system_prompt' | 'messages'>): number {
  return messages.reduce((sum, { content }) => sum + content.length, system_prompt.length);
}
