import { ControlPlaneError, errorOf } from './errors.ts';
import { type EventOptions, type LiveEvent, liveEvents } from './live-events.ts';
import { type Operations, routes } from './operations.ts';
import { type RetryOptions, retrying } from './retrying.ts';

export interface ClientOptions extends RetryOptions {
  /** `https://control.example`; a path below it is kept. */
  base_url: string;
  /** Of an agent or a company (`sk_…`). */
  api_key: string;
  /** In the place of the platform's own. */
  fetch?: typeof fetch;
}

export type OperationId = keyof Operations;
type Part<O extends OperationId, P extends 'path' | 'query' | 'body'> = Operations[O][P];

/** What an operation takes: a part that it does not have can't be given, one without required fields may be left out. */
type Given<Name extends string, T> = [T] extends [undefined]
  ? { readonly [N in Name]?: undefined }
  : Partial<T> extends T
    ? { readonly [N in Name]?: T }
    : undefined extends T
      ? { readonly [N in Name]?: T }
      : { readonly [N in Name]: T };
export type Input<O extends OperationId> = Given<'path', Part<O, 'path'>> &
  Given<'query', Part<O, 'query'>> &
  Given<'body', Part<O, 'body'>> & {
    readonly signal?: AbortSignal;
    /** Made by the client unless given: a POST that is sent again takes effect once. */
    readonly idempotency_key?: string;
  };
type Arguments<O extends OperationId> =
  Partial<Input<O>> extends Input<O> ? [input?: Input<O>] : [input: Input<O>];

export type Answer<O extends OperationId> = Operations[O]['answer'];

type ListId = { [O in OperationId]: Answer<O> extends readonly unknown[] ? O : never }[OperationId];
type ItemOf<O extends OperationId> = Answer<O> extends readonly (infer Item)[] ? Item : never;

interface Sent {
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
  signal?: AbortSignal;
  idempotency_key?: string;
}

export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /**
   * Calls one operation of the API. Answers that are no JSON (files, streams) come as the `Response`.
   * @throws ControlPlaneError for whatever the service refuses
   */
  async call<O extends OperationId>(id: O, ...[input]: Arguments<O>): Promise<Answer<O>> {
    const response = await this.#send(id, input ?? {});
    return (await answerOf(response)) as Answer<O>;
  }

  /** All items of a list, page by page as they are asked for. */
  async *pages<O extends ListId>(id: O, ...[input]: Arguments<O>): AsyncGenerator<ItemOf<O>, void, void> {
    const sent: Sent = input ?? {};
    let cursor: string | null = null;
    do {
      const query: Record<string, unknown> = { ...sent.query, ...(cursor === null ? {} : { cursor }) };
      const response: Response = await this.#send(id, { ...sent, query });
      yield* (await response.json()) as ItemOf<O>[];
      cursor = response.headers.get('x-next-cursor');
    } while (cursor !== null);
  }

  /** What happens, as it happens; after a break it goes on where it was. Ends with its signal, or when the loop is left. */
  events(options: EventOptions = {}): AsyncGenerator<LiveEvent, void, void> {
    const open = async (query: URLSearchParams, headers: Record<string, string>, signal: AbortSignal) =>
      this.#fetch(this.#url('/api/live/events', query), { headers, signal });
    return liveEvents(open, options);
  }

  async #send(
    id: OperationId,
    { path = {}, query = {}, body, signal, idempotency_key }: Sent,
  ): Promise<Response> {
    const [method, template, once] = routes[id];
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (typeof value === 'string') params.set(name, value);
      else if (typeof value === 'number' || typeof value === 'boolean') params.set(name, String(value));
    const url = this.#url(filled(template, path), params);
    // Files, and what is sent as it is, say themselves what they are.
    const form = body instanceof FormData || body instanceof Uint8Array || typeof body === 'string';
    const headers: Record<string, string> = {
      Accept: 'application/json',
      ...(body !== undefined && !form ? { 'Content-Type': 'application/json' } : {}),
      ...(once && !form ? { 'Idempotency-Key': idempotency_key ?? crypto.randomUUID() } : {}),
    };
    const request: RequestInit = {
      method,
      headers,
      ...(body === undefined ? {} : { body: form ? (body as FormData) : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    };
    // What may have taken effect is sent again only where a second time does nothing.
    const repeatable = method !== 'POST' || (once && !form);
    const response = await retrying(() => this.#fetch(url, request), repeatable, this.#options, signal);
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  #url(path: string, query: URLSearchParams): string {
    const base = this.#options.base_url.replace(/\/+$/, '');
    const text = query.toString();
    return `${base}${path}${text === '' ? '' : `?${text}`}`;
  }

  async #fetch(url: string, request: RequestInit): Promise<Response> {
    const send = this.#options.fetch ?? fetch;
    const headers = { ...(request.headers as object), Authorization: `Bearer ${this.#options.api_key}` };
    // A redirect would take the key elsewhere.
    return send(url, { ...request, headers, redirect: 'error' });
  }
}

export const createClient = (options: ClientOptions): Client => new Client(options);

function filled(template: string, path: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
    const value = path[name];
    // An empty one, or dots, would name another resource.
    if (value === undefined || value === '' || value === '.' || value === '..')
      throw new ControlPlaneError(0, `path.${name} is required`, null);
    return encodeURIComponent(value);
  });
}

async function answerOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  const type = response.headers.get('content-type') ?? '';
  const attached = response.headers.has('content-disposition');
  return type.includes('json') && !attached ? response.json() : response;
}
