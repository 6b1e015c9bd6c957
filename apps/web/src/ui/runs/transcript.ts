/** A run's transcript in readable form: streamed text is joined, everything else is a line or a fold-out. */
import { type Run, type RunEvent, verbLine } from '@acp/contract';
import { readableJson } from '@acp/kernel';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { line, resultText, toolWords } from './tool-words.ts';

/** Number of entries that a page starts with; the script fetches the rest. */
export const FIRST_ENTRIES = 1000;

/**
 * The transcript so far. The script appends entries from the live stream, starting after `data-seq`; it fetches missing
 * entries from `data-source`. `data-more` says that there are or may be some.
 * @param events the first FIRST_ENTRIES of them
 */
export function transcript(run: Pick<Run, 'id' | 'status'>, events: readonly RunEvent[]): Html {
  const last = events.at(-1)?.seq ?? 0;
  const more = run.status === 'queued' || run.status === 'running' || events.length >= FIRST_ENTRIES;
  return html`<div
    class="transcript"
    data-transcript="${run.id}"
    data-seq="${last}"
    data-source="/runs/${run.id}/transcript"
    !${attributes({ 'data-more': more })}
    tabindex="0"
    role="region"
    aria-label="Transcript"
  >
    !${transcriptEntries(events)}
  </div>`;
}

/** Only the entries, as the script appends them. */
export function transcriptEntries(events: readonly RunEvent[]): Html {
  const blocks: RunEvent[][] = [];
  for (const event of events) {
    const open = blocks.at(-1);
    if (event.kind === 'output' && open?.[0]?.kind === 'output') open.push(event);
    else blocks.push([event]);
  }
  return each(blocks, (block) => (block[0]!.kind === 'output' ? output(block) : entry(block[0]!)));
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value : value === null || value === undefined ? '' : readableJson(value);

function output(events: readonly RunEvent[]): Html {
  const joined = events.map(({ payload }) => text(payload.text)).join('');
  const [first, last] = [events[0]!.seq, events.at(-1)!.seq];
  // No white space around the text: it is rendered verbatim.
  const at = attributes({ id: `entry-${first}`, 'data-kind': 'output', 'data-seq': last });
  return html`<div class="t-output" !${at}>!${linkTo(first)}${joined}</div>`;
}

/**
 * Permalink to the entry, without text of its own. Ahead of a fold-out, not in it: nobody could reach a link within a summary
 * by a screen reader. The script also follows it to entries that are not loaded yet. */
const linkTo = (seq: number): Html =>
  html`<a class="t-link" href="#entry-${seq}" aria-label="Link to entry ${seq}"></a>`;

function entry({ kind, payload, seq }: RunEvent): Html {
  const at = html`id="entry-${seq}" data-kind="${kind}" data-seq="${seq}"`;
  const link = linkTo(seq);
  switch (kind) {
    case 'status':
      return html`<p class="t-line" !${at}>!${link}${text(payload.status)}</p>`;
    case 'prompt':
      return html`!${link}
        <details class="t-fold" !${at}>
          <summary>Prompt</summary>
          <pre>${promptText(payload)}</pre>
        </details>`;
    case 'action':
      return action(payload, at, link);
    case 'tool':
      return payload.name === 'result' ? toolResult(payload, at, link) : toolCall(payload, at, link);
    case 'error':
      return html`<p class="t-line t-error" !${at}>!${link}${text(payload.message ?? payload.text)}</p>`;
    case 'log':
      return html`<p class="t-line" !${at}>!${link}${text(payload.message ?? payload)}</p>`;
    default:
      return html`<p class="t-line" !${at}>
        !${link}<span class="soft">${kind}</span> ${text(payload.message ?? payload.text ?? payload)}
      </p>`;
  }
}

function promptText(payload: Record<string, unknown>): string {
  const parts = Object.entries(payload).map(([name, value]) => `${name}\n${text(value)}`);
  return parts.join('\n\n');
}

/** A verb's line, which says what was asked for; in the fold its body, and what came of it as the agent was told. */
function action(payload: Record<string, unknown>, at: Html, link: Html): Html {
  const { verb: _verb, ordinal: _ordinal, args, ok, ...outcome } = payload;
  const { line: _line, ...more } = (args ?? {}) as Record<string, unknown>;
  const said = Object.entries({ ...more, ...outcome }).filter(([, value]) => text(value) !== '');
  return html`!${link}
    <details class="t-fold t-action" data-ok="${String(ok !== false)}" !${at}>
      <summary>
        <code>${verbLine(payload)}</code> <span class="soft">${ok === false ? text(payload.error) : ''}</span>
      </summary>
      <pre>${promptText(Object.fromEntries(said))}</pre>
    </details>`;
}

/** A call of one of the program's own tools: its arguments, or that it was denied. */
function toolCall(payload: Record<string, unknown>, at: Html, link: Html): Html {
  const { name, ...rest } = payload;
  const refused = payload.denied === true;
  return html`!${link}
    <details class="t-fold t-tool" data-ok="${String(!refused)}" !${at}>
      <summary>
        <code>${text(name)}</code> !${when(refused, () => html`<span>refused</span> `)}<span class="soft"
          >${toolWords(payload)}</span
        >
      </summary>
      <pre>${promptText(rest)}</pre>
    </details>`;
}

function toolResult(payload: Record<string, unknown>, at: Html, link: Html): Html {
  const { name: _, ok, result, ...rest } = payload;
  const said = resultText(result);
  const others = Object.keys(rest).length === 0 ? '' : promptText(rest);
  return html`!${link}
    <details class="t-fold t-tool t-result" data-ok="${String(ok !== false)}" !${at}>
      <summary>
        !${ok === false ? html`<span>failed</span>` : html`<span>result</span>`}
        <span class="soft">${line(said)}</span>
      </summary>
      <pre>${[said, others].filter((part) => part !== '').join('\n\n')}</pre>
    </details>`;
}
