import { ControlPlaneError, errorOf } from './errors.ts';
import { pause } from './retrying.ts';

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
  signal?: AbortSignal;
}

type Open = (
  query: URLSearchParams,
  headers: Record<string, string>,
  signal: AbortSignal,
) => Promise<Response>;

const LONGEST_PAUSE_MS = 15_000;

/** Reconnects by itself with the id of the last event, so nothing is lost or delivered twice. */
export async function* liveEvents(
  open: Open,
  { company_id, topics = [], after, signal }: EventOptions,
): AsyncGenerator<LiveEvent, void, void> {
  const left = new AbortController();
  const stop = () => left.abort();
  if (signal?.aborted) return;
  signal?.addEventListener('abort', stop, { once: true });
  let last = after;
  let failures = 0;
  try {
    while (!left.signal.aborted) {
      const query = new URLSearchParams();
      if (company_id !== undefined) query.set('company_id', company_id);
      if (topics.length > 0) query.set('topic', topics.join(','));
      if (last !== undefined) query.set('after', last);
      try {
        const response = await open(query, { Accept: 'text/event-stream' }, left.signal);
        // A permanent refusal would only be repeated.
        if (!response.ok || response.body === null) throw await errorOf(response);
        for await (const event of frames(response.body)) {
          failures = 0;
          if (event.id !== null) last = event.id;
          yield event;
        }
      } catch (error) {
        if (left.signal.aborted) return;
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

/** Parses Server-Sent Events in the service's format: one `data` line each, possibly with comments in between. */
async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<LiveEvent, void, void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        const event = frameOf(part);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function frameOf(part: string): LiveEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of part.split('\n')) {
    const at = line.indexOf(':');
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 1).replace(/^ /, ''));
  }
  const data = fields.get('data');
  if (data === undefined) return undefined;
  return { id: fields.get('id') ?? null, event: fields.get('event') ?? 'message', data: JSON.parse(data) };
}
