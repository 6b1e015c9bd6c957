import type { AdapterError } from '../adapter-error.ts';
import type { ProgramEnd } from '../process/run-program.ts';
import type { AdapterEvent, SessionTotals } from '../task.ts';
import { type CliCall, type CliDialect, type CliOutcome, type CliReader, noTotals } from './cli-dialect.ts';
import { count, cut, object, shown, text } from './fields.ts';
import { failureOf, failureOfEnd } from './failures.ts';

type Line = Record<string, unknown>;

/** The second CLI: `exec --json`. */
export const dialectB: CliDialect = {
  name: 'cli_b',
  arguments: (call) => [
    'exec',
    '--json',
    '--skip-git-repo-check',
    // Programs named in files of the home would run uninvited.
    '--ignore-user-config',
    '--ignore-rules',
    '--disable=shell_snapshot',
    '-c',
    'analytics.enabled=false',
    '-c',
    'check_for_update_on_startup=false',
    ...permissions(call),
    ...(call.model === null ? [] : [`--model=${call.model}`]),
    ...(call.resume === null ? [] : ['resume', call.resume.id]),
    '-',
  ],
  reader: (call) => new ReaderB(call),
  longest_prompt: 1_000_000,
};

// Its commands run in the CLI's own sandbox, which can't work inside ours; there, ours is what confines them.
// The agent reaches this service's API over the network.
function permissions({ permissions: wanted, walled }: CliCall): string[] {
  if (wanted === 'all' || (walled && wanted !== 'edit'))
    return ['--dangerously-bypass-approvals-and-sandbox'];
  if (wanted === 'read') return ['--sandbox=read-only'];
  return ['--sandbox=workspace-write', '-c', 'sandbox_workspace_write.network_access=true'];
}

class ReaderB implements CliReader {
  readonly #call: CliCall;
  #threadId: string | null = null;
  #said = false;
  #outputLength = 0;
  #worked = false;
  #totals: SessionTotals | null = null;
  #failed: string | null = null;

  constructor(call: CliCall) {
    this.#call = call;
  }

  *read(line: Line): Generator<AdapterEvent, void> {
    const item = object(line.item);
    switch (line.type) {
      case 'thread.started':
        this.#threadId = text(line.thread_id) || null;
        break;
      case 'turn.started':
      case 'item.updated':
        break;
      case 'item.started':
        if (item.type === 'command_execution')
          yield { kind: 'tool', name: 'command', command: shown(item.command) };
        break;
      case 'item.completed':
        this.#worked = true;
        yield* this.#item(item);
        break;
      case 'turn.completed':
        this.#totals = totalsOf(object(line.usage));
        this.#failed = null;
        break;
      case 'turn.failed':
        this.#failed = text(object(line.error).message) || 'the turn failed';
        break;
      case 'error':
        // Retried errors are reported as well.
        yield { kind: 'log', message: cut(text(line.message), 2000) };
        break;
      default:
        yield { kind: 'log', message: `unknown line: ${cut(JSON.stringify(line), 500)}` };
    }
  }

  *#item(item: Line): Generator<AdapterEvent, void> {
    const { type, id: _, ...detail } = item;
    switch (type) {
      case 'agent_message':
        yield* this.#message(text(item.text));
        break;
      case 'reasoning':
        yield { kind: 'log', message: cut(text(item.text), 2000) };
        break;
      case 'error':
        yield { kind: 'log', message: cut(text(item.message), 2000) };
        break;
      case 'command_execution': {
        const { exit_code, status, aggregated_output: output } = item;
        yield { kind: 'tool', name: 'result', ok: status === 'completed', exit_code, result: shown(output) };
        break;
      }
      default:
        yield { kind: 'tool', name: text(type) || 'unknown', detail: shown(detail) };
    }
  }

  /** Every message is a separate item. */
  *#message(said: string): Generator<AdapterEvent, void> {
    if (said === '') return;
    if (this.#said) yield { kind: 'boundary' };
    this.#said = true;
    this.#outputLength += said.length;
    yield { kind: 'output', text: said };
  }

  finish(end: ProgramEnd): CliOutcome {
    const { resume } = this.#call;
    const lost_session = resume !== null && this.#threadId === null && /no rollout found/i.test(end.stderr);
    const known = this.#threadId === resume?.id ? (resume?.totals ?? noTotals) : noTotals;
    return {
      usage: this.#usage(known),
      session: this.#threadId === null ? null : { id: this.#threadId, totals: this.#counted(known) },
      lost_session,
      failure: this.#failure(end),
    };
  }

  /** The totals from which the next run subtracts; an invalid count provides none. */
  #counted(known: SessionTotals): SessionTotals {
    const totals = this.#totals;
    return totals === null || Object.values(totals).some(Number.isNaN) ? known : totals;
  }

  #failure(end: ProgramEnd): AdapterError | null {
    if (this.#failed !== null) return failureOf(this.#failed, statusIn(this.#failed));
    if (end.code === 0 && this.#totals !== null) return null;
    return failureOfEnd('the CLI', end);
  }

  /** The CLI reports totals for the whole thread; this run's usage is the difference. */
  #usage(known: SessionTotals): AdapterEvent[] {
    const model = this.#call.model ?? 'unknown';
    if (this.#totals === null) {
      if (!this.#worked) return [];
      // Interrupted before its count: estimate from the lengths of prompt and answer.
      const input_tokens = Math.ceil(this.#call.prompt_length / 4);
      const output_tokens = Math.ceil(this.#outputLength / 4);
      return [{ kind: 'usage', model, input_tokens, output_tokens, cached_tokens: 0, usage_missing: true }];
    }
    const since = (field: keyof SessionTotals) => {
      const total = this.#totals?.[field] ?? 0;
      // A total below the known one means that the thread has restarted its count.
      return total >= known[field] ? total - known[field] : total;
    };
    return [
      {
        kind: 'usage',
        model,
        input_tokens: since('input_tokens'),
        output_tokens: since('output_tokens'),
        cached_tokens: since('cached_tokens'),
      },
    ];
  }
}

function totalsOf(usage: Line): SessionTotals {
  return {
    input_tokens: count(usage.input_tokens),
    output_tokens: count(usage.output_tokens),
    cached_tokens: count(usage.cached_input_tokens),
    cost_usd: 0,
  };
}

/** "unexpected status 401 Unauthorized: …" */
function statusIn(message: string): number | null {
  const [, status] = /\bstatus:? (\d{3})\b/.exec(message) ?? [];
  return status === undefined ? null : Number(status);
}
