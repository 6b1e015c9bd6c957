/** A task's result body, collected from its events. */
import type { AdapterEvent, UsageEvent } from '@acp/adapters';
import { type TaskResult, verbTable } from '@acp/contract';
import { cutText, type Scrubber, storableText } from '@acp/kernel';

/** In bytes of JSON; the service accepts 1 MiB. */
const MOST_BYTES = 1_000_000;

const words = verbTable
  .filter(({ remote }) => remote)
  .flatMap(({ name, aliases }) => [name, ...aliases])
  .map((word) => word.replaceAll('-', '[-_]'));
const actionLine = new RegExp(`^/(?:${words.join('|')})(?:\\s|$)`, 'm');

export class Answer {
  readonly #texts = [''];
  readonly #usage: UsageEvent[] = [];

  take(event: AdapterEvent): void {
    if (event.kind === 'output') this.#texts.push(`${this.#texts.pop() ?? ''}${event.text}`);
    else if (event.kind === 'boundary') this.#texts.push('');
    else if (event.kind === 'usage') this.#usage.push(event);
  }

  /** The last message is the answer; earlier messages are included if they contain action lines. */
  result(scrubber: Scrubber): TaskResult {
    const texts = this.#texts.filter((text) => text.trim() !== '');
    const relevant = texts.filter((text, at) => at === texts.length - 1 || actionLine.test(text));
    const summary = storableText(scrubber.scrub(relevant.join('\n\n')));
    const sum = (field: 'input_tokens' | 'output_tokens' | 'cached_tokens') =>
      this.#usage.reduce((total, usage) => total + usage[field], 0);
    const costs = this.#usage.map(({ cost_usd }) => cost_usd).filter((cost) => cost !== undefined);
    const last = this.#usage.at(-1);
    return fitting({
      summary,
      ...(last === undefined
        ? {}
        : {
            model: last.model,
            input_tokens: sum('input_tokens'),
            output_tokens: sum('output_tokens'),
            cached_tokens: sum('cached_tokens'),
          }),
      ...(costs.length === 0 ? {} : { cost_usd: costs.reduce((total, cost) => total + cost, 0) }),
    });
  }
}

function fitting(result: TaskResult): TaskResult {
  let { summary } = result;
  for (let bytes = MOST_BYTES; Buffer.byteLength(JSON.stringify({ ...result, summary })) > MOST_BYTES;) {
    bytes = Math.floor(bytes * 0.7);
    summary = `${cutText(result.summary, bytes)}\n[… the rest is left out]`;
  }
  return { ...result, summary };
}
