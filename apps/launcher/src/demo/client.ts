/** The public interface as used by any script: sign-in by form, JSON with the cookie, the live stream. */
import { setTimeout as delay } from 'node:timers/promises';

export interface LiveEvent {
  id: string;
  type: string;
  occurred_at: string;
  data: Record<string, unknown>;
}

const RECONNECT_MS = 500;

export class Client {
  readonly #url: string;
  #cookie = '';

  constructor(url: string) {
    this.#url = url;
  }

  async signIn(email: string, password: string): Promise<void> {
    const response = await fetch(`${this.#url}/login`, {
      method: 'POST',
      body: new URLSearchParams({ email, password }),
      redirect: 'manual',
    });
    const cookie = response.headers.getSetCookie().find((each) => each.startsWith('service_session='));
    if (response.status !== 303 || cookie === undefined) throw await failure('POST /login', response);
    this.#cookie = cookie.split(';')[0]!;
  }

  async get<T>(path: string): Promise<T> {
    return this.#call<T>('GET', path);
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    return this.#call<T>('POST', path, body);
  }

  async put<T>(path: string, body: unknown): Promise<T> {
    return this.#call<T>('PUT', path, body);
  }

  /** Submits a page's form. */
  async submit(path: string, fields: Record<string, string>): Promise<void> {
    const response = await fetch(`${this.#url}${path}`, {
      method: 'POST',
      headers: { cookie: this.#cookie },
      body: new URLSearchParams(fields),
      redirect: 'manual',
    });
    if (response.status !== 303) throw await failure(`POST ${path}`, response);
  }

  /** All of the company's events from now on; resumes a broken stream. */
  async *events(companyId: string, signal: AbortSignal): AsyncGenerator<LiveEvent> {
    let last = '';
    while (!signal.aborted) {
      const headers = { cookie: this.#cookie, ...(last === '' ? {} : { 'last-event-id': last }) };
      try {
        const url = `${this.#url}/api/live/events?company_id=${companyId}`;
        const response = await fetch(url, { headers, signal });
        if (!response.ok || response.body === null) throw await failure('GET /api/live/events', response);
        for await (const frame of frames(response.body)) {
          last = frame.id ?? last;
          if (frame.data !== undefined) yield JSON.parse(frame.data) as LiveEvent;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof TypeError)) throw error;
      }
      await delay(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { cookie: this.#cookie, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw await failure(`${method} ${path}`, response);
    return (await response.json()) as T;
  }
}

interface Frame {
  id?: string;
  data?: string;
}

/** Parses server-sent events in this service's format: one `data:` line per frame. */
async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  let rest = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      const frame: Frame = {};
      for (const line of block.split('\n')) {
        const [, field, value] = /^(id|data): (.*)$/.exec(line) ?? [];
        if (field === 'id') frame.id = value!;
        if (field === 'data') frame.data = value!;
      }
      yield frame;
    }
  }
}

async function failure(what: string, response: Response): Promise<Error> {
  return new Error(`${what} answered ${response.status}: ${(await response.text()).slice(0, 500)}`);
}
