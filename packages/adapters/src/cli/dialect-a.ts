import type { AdapterError } from '../adapter-error.ts';
import type { ProgramEnd } from '../process/run-program.ts';
import type { AdapterEvent, SessionTotals, UsageEvent } from '../task.ts';
import { type CliCall, type CliDialect, type CliOutcome, type CliReader, noTotals } from './cli-dialect.ts';
import { cost, count, cut, object, objects, shown, text } from './fields.ts';
import { failureOf, failureOfEnd } from './failures.ts';

type Line = Record<string, unknown>;

/** That one run tells of. */
const MOST_MODELS = 50;

/** The first CLI: `-p --output-format stream-json`. */
export const dialectA: CliDialect = {
  name: 'cli_a',
  arguments: (call) => [
    '-p',
    '--output-format=stream-json',
    '--verbose',
    // Hooks, servers and instructions in files of the home or the folder would run and speak unasked.
    '--setting-sources=',
    '--strict-mcp-config',
    `--settings=${JSON.stringify({ env: switches(call) })}`,
    ...permissions[call.permissions],
    ...(call.model === null ? [] : [`--model=${call.model}`]),
    ...(call.resume === null ? [] : [`--resume=${call.resume.id}`]),
  ],
  reader: (call) => new ReaderA(call),
  longest_prompt: 2_000_000,
};

const permissions: Record<CliCall['permissions'], string[]> = {
  read: ['--permission-mode=default', '--disallowedTools=Bash,Edit,Write,NotebookEdit'],
  edit: ['--permission-mode=acceptEdits'],
  commands: ['--permission-mode=acceptEdits', '--allowedTools=Bash'],
  all: ['--dangerously-skip-permissions'],
};

function switches({ temp_dir, retries }: CliCall): Record<string, string> {
  return {
    // `@/any/path` in an issue would lay that file's text into the conversation.
    CLAUDE_CODE_DISABLE_FILE_MENTIONS: '1',
    // A task in the background would keep the program from ending.
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
    CLAUDE_CODE_TMPDIR: temp_dir,
    CLAUDE_CODE_MAX_RETRIES: String(retries),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
  };
}

class ReaderA implements CliReader {
  readonly #call: CliCall;
  #sessionId: string | null = null;
  #model = '';
  /** The message that the last text belongs to. */
  #textOf: string | null = null;
  #outputLength = 0;
  #result: Line | null = null;
  readonly #perModel = new Map<string, UsageEvent>();
  /** Input of each model call, by message, for a run without a result. */
  readonly #seen = new Map<string, { input: number; cached: number }>();

  constructor(call: CliCall) {
    this.#call = call;
  }

  *read(line: Line): Generator<AdapterEvent, void> {
    const id = text(line.session_id);
    if (id !== '') this.#sessionId = id;
    switch (line.type) {
      case 'system':
        yield* this.#system(line);
        break;
      case 'assistant':
        yield* this.#assistant(line);
        break;
      case 'user':
        yield* toolResults(line);
        break;
      case 'result':
        yield* this.#end(line);
        break;
      case 'stream_event':
      case 'conversation_reset':
        break;
      default:
        yield { kind: 'log', message: `unknown line: ${cut(JSON.stringify(line), 500)}` };
    }
  }

  *#system(line: Line): Generator<AdapterEvent, void> {
    if (line.subtype === 'init') this.#model = text(line.model);
    if (line.subtype === 'permission_denied') {
      yield { kind: 'tool', name: text(line.tool_name), denied: true, message: shown(text(line.message)) };
    }
    if (line.subtype === 'api_retry') {
      const status = count(line.error_status) || text(line.error);
      yield {
        kind: 'log',
        message: `model call failed (${status}), attempt ${count(line.attempt)}: trying again`,
      };
    }
  }

  *#assistant(line: Line): Generator<AdapterEvent, void> {
    const message = object(line.message);
    const id = text(message.id);
    const blocks = objects(message.content);
    if (message.model === '<synthetic>') {
      // The CLI speaks here, not the model.
      yield { kind: 'log', message: cut(blocks.map((block) => text(block.text)).join(' '), 2000) };
      return;
    }
    this.#noteInput(id, object(message.usage));
    // Another agent that this one has started: its words are not the answer.
    const own = (line.parent_tool_use_id ?? null) === null;
    for (const block of blocks) {
      if (block.type === 'text' && own) yield* this.#text(id, text(block.text));
      if (block.type === 'tool_use')
        yield { kind: 'tool', name: text(block.name), input: shown(block.input) };
    }
  }

  *#text(message_id: string, said: string): Generator<AdapterEvent, void> {
    if (said === '') return;
    if (this.#textOf !== null && this.#textOf !== message_id) yield { kind: 'boundary' };
    this.#textOf = message_id;
    this.#outputLength += said.length;
    yield { kind: 'output', text: said };
  }

  *#end(line: Line): Generator<AdapterEvent, void> {
    this.#result = line;
    this.#addUsage(line);
    const said = text(line.result);
    // Words that came in no line of their own.
    if (line.is_error === false && this.#textOf === null) yield* this.#text('result', said);
  }

  #noteInput(message_id: string, usage: Line): void {
    const { input, cached } = inputOf(usage);
    if (message_id !== '') this.#seen.set(message_id, { input, cached });
  }

  /** A second result tells what came since the first. */
  #addUsage(line: Line): void {
    const models = Object.entries(object(line.model_usage_since_last_result));
    for (const [model, each] of models) {
      const usage = object(each);
      const cached = count(usage.cacheReadInputTokens);
      this.#add({
        kind: 'usage',
        model,
        input_tokens: count(usage.inputTokens) + count(usage.cacheCreationInputTokens) + cached,
        output_tokens: count(usage.outputTokens),
        cached_tokens: cached,
        cost_usd: cost(usage.costUSD),
      });
    }
    if (models.length > 0 || line.usage === undefined) return;
    const usage = object(line.usage);
    const { input, cached } = inputOf(usage);
    // Of the whole session, unlike the tokens beside it.
    const total = cost(line.total_cost_usd);
    const known = this.#call.resume?.totals.cost_usd ?? 0;
    this.#perModel.clear();
    this.#add({
      kind: 'usage',
      model: this.#modelName(),
      input_tokens: input,
      output_tokens: count(usage.output_tokens),
      cached_tokens: cached,
      cost_usd: total === undefined || total < known ? total : total - known,
    });
  }

  #add(usage: UsageEvent): void {
    const known = this.#perModel.get(usage.model);
    if (known === undefined && this.#perModel.size >= MOST_MODELS) return;
    this.#perModel.set(usage.model, known === undefined ? usage : added(known, usage));
  }

  #modelName(): string {
    return this.#model || this.#call.model || 'unknown';
  }

  finish(end: ProgramEnd): CliOutcome {
    const lost_session = this.#call.resume !== null && isUnknownSession(this.#result);
    const failure = this.#failure(end);
    // The main model last: it is the run's.
    const usage = [...this.#perModel.values()].toSorted(
      (a, b) => Number(a.model === this.#model) - Number(b.model === this.#model),
    );
    const session =
      this.#sessionId === null || lost_session ? null : { id: this.#sessionId, totals: this.#totals() };
    return { usage: usage.length > 0 ? usage : this.#estimate(), session, lost_session, failure };
  }

  #failure(end: ProgramEnd): AdapterError | null {
    const result = this.#result;
    if (result === null) return failureOfEnd('the CLI', end);
    if (end.code === 0 && result.is_error === false) return null;
    const errors = Array.isArray(result.errors)
      ? result.errors.filter((each) => typeof each === 'string')
      : [];
    const said = text(result.result) || errors.join('; ');
    if (said === '') return failureOfEnd(`the CLI (${text(result.subtype)})`, end);
    return failureOf(said, count(result.api_error_status) || null);
  }

  #totals(): SessionTotals {
    const known = this.#call.resume?.totals ?? noTotals;
    return { ...known, cost_usd: cost(this.#result?.total_cost_usd) ?? known.cost_usd };
  }

  /** Cut off before its result: the input of the calls that were seen, the output by its length. */
  #estimate(): AdapterEvent[] {
    if (this.#seen.size === 0) return [];
    const calls = [...this.#seen.values()];
    return [
      {
        kind: 'usage',
        model: this.#modelName(),
        input_tokens: calls.reduce((sum, { input }) => sum + input, 0),
        output_tokens: Math.ceil(this.#outputLength / 4),
        cached_tokens: calls.reduce((sum, { cached }) => sum + cached, 0),
        usage_missing: true,
      },
    ];
  }
}

/** The CLI leaves the cache out of its input tokens. */
function inputOf(usage: Line): { input: number; cached: number } {
  const cached = count(usage.cache_read_input_tokens);
  return { input: count(usage.input_tokens) + count(usage.cache_creation_input_tokens) + cached, cached };
}

function added(a: UsageEvent, b: UsageEvent): UsageEvent {
  return {
    ...a,
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cached_tokens: a.cached_tokens + b.cached_tokens,
    // One without leaves the sum to the model's price.
    cost_usd: a.cost_usd === undefined || b.cost_usd === undefined ? undefined : a.cost_usd + b.cost_usd,
  };
}

function isUnknownSession(result: Line | null): boolean {
  const errors = Array.isArray(result?.errors) ? result.errors : [];
  return errors.some((error) => /no conversation found with session id/i.test(text(error)));
}

function* toolResults(line: Line): Generator<AdapterEvent, void> {
  for (const block of objects(object(line.message).content)) {
    if (block.type !== 'tool_result') continue;
    yield { kind: 'tool', name: 'result', ok: block.is_error !== true, result: shown(block.content) };
  }
}
