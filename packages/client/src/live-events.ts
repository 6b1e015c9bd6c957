import { ControlPlaneError, errorOf } from './errors.ts';
import { pause } from './retrying.ts';
import { within } from './within.ts';

export interface LiveEvent {
  /** Pass as `after` to resume here; null for unnumbered events (transcripts, deltas). */
  id: string | null;
  /** `issue_updated`, `heartbeat_completed`, …; `reset` if events were permanently missed. */
  event: string;
  data: unknown;
}

export interface EventOptions {
  /** Limits the stream to one company if the key can see several. */
  company_id?: string;
  /** `issues`, `run:<id>`, …: only events about these. */
  topics?: readonly string[];
  /** Id of the last event seen; by default the stream starts now. */
  after?: string;
  /** Reconnects when no byte has come for so long; the service sends some every 15 s. Default 45,000. */
  max_silence_ms?: number;
  signal?: AbortSignal;
}

type Open = (
  query: URLSearchParams,
  headers: Record<string, string>,
  signal: AbortSignal,
) => Promise<Response>;

/** A block of the stream as it was sent. */
interface Frame {
  id: string | null;
  event: string;
  /** Absent: the block only sets the position. */
  data: string | undefined;
}

const LONGEST_PAUSE_MS = 15_000;
const LONGEST_SILENCE_MS = 45_000;

/** Reconnects by itself at the position that the service has told, so nothing is lost or delivered twice. */
export async function* liveEvents(open: Open, options: EventOptions): AsyncGenerator<LiveEvent, void, void> {
  const { after, signal } = options;
  const left = new AbortController();
  const stop = () => left.abort();
  if (signal?.aborted) return;
  signal?.addEventListener('abort', stop, { once: true });
  let last = after;
  let failures = 0;
  try {
    while (!left.signal.aborted) {
      try {
        for await (const { id, event, data } of connection(open, options, last, left.signal)) {
          failures = 0;
          if (id !== null) last = id;
          if (data !== undefined) yield { id, event, data: JSON.parse(data) as unknown };
        }
      } catch (error) {
        if (left.signal.aborted) return;
        // A permanent refusal would only be repeated.
        if (error instanceof ControlPlaneError && error.status < 500 && error.status !== 429) throw error;
      }
      failures += 1;
      await pause(Math.min(250 * 2 ** failures, LONGEST_PAUSE_MS), left.signal).catch(() => undefined);
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    left.abort();
  }
}

/** The frames of one connection, until it ends, falls silent, or `left` aborts. */
async function* connection(
  open: Open,
  { company_id, topics = [], max_silence_ms = LONGEST_SILENCE_MS }: EventOptions,
  after: string | undefined,
  left: AbortSignal,
): AsyncGenerator<Frame, void, void> {
  const query = new URLSearchParams();
  if (company_id !== undefined) query.set('company_id', company_id);
  if (topics.length > 0) query.set('topic', topics.join(','));
  if (after !== undefined) query.set('after', after);
  const over = new AbortController();
  try {
    const opening = open(query, { Accept: 'text/event-stream' }, over.signal);
    const response = await within(opening, max_silence_ms, left);
    if (!response.ok || response.body === null) throw await within(errorOf(response), max_silence_ms, left);
    yield* frames(response.body, max_silence_ms, left);
  } finally {
    over.abort();
  }
}

/** Parses Server-Sent Events in the service's format: one `data` line each, possibly with comments in between. */
async function* frames(
  body: ReadableStream<Uint8Array>,
  max_silence_ms: number,
  left: AbortSignal,
): AsyncGenerator<Frame, void, void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), max_silence_ms, left);
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) yield frameOf(part);
    }
  } finally {
    // Not awaited: a dead connection may never confirm it.
    reader.cancel().catch(() => undefined);
  }
}

function frameOf(part: string): Frame {
  const fields = new Map<string, string>();
  for (const line of part.split('\n')) {
    const at = line.indexOf(':');
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 1).replace(/^ /, ''));
  }
  return { id: fields.get('id') ?? null, event: fields.get('event') ?? 'message', data: fields.get('data') };
}
