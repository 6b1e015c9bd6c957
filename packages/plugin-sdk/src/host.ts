/** What the plugin can ask of the host. `http_fetch` and `log` need no grant. */
import { Body } from './body.ts';
import type { HostMessages, HostServices, PluginMessages } from './protocol.ts';

export type LogLevel = PluginMessages['log']['level'];
type Service = keyof HostServices;
type Args<S extends Service> = HostServices[S]['args'];
type Result<S extends Service> = HostServices[S]['result'];
type KvOperation = Args<'kv'>['ops'][number];

/** Longer than the slowest of the services takes. */
const TIMEOUT_MS = 40_000;

/** The host refused, or could not. */
export class HostError extends Error {
  override name = 'HostError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export type FetchOptions = Omit<Args<'http_fetch'>, 'url'>;

/** What came back: any status, also those that say that it failed. */
export class FetchResponse extends Body {
  readonly status: number;
  readonly ok: boolean;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** It was longer than 10 MB, and this is its beginning. */
  readonly truncated: boolean;

  constructor(result: Result<'http_fetch'>) {
    super(result);
    this.status = result.status;
    this.ok = result.status >= 200 && result.status < 300;
    this.headers = result.headers;
    this.truncated = result.truncated;
  }
}

export interface KvValue {
  /** Null where there is none. */
  value: unknown;
  /** 0 where there is none. */
  version: number;
}

export interface KvList {
  keys: readonly string[];
  more: boolean;
}

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
}

type Send = (type: 'host_request' | 'log', payload: object) => Promise<void>;

export class Host {
  readonly #send: Send;
  readonly #pending = new Map<string, Pending>();
  #count = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  /** A service by its name. Throws `HostError`; its codes are in docs/plugins.md. */
  async request<S extends Service>(service: S, args: Args<S>): Promise<Result<S>> {
    this.#count += 1;
    const request_id = `h${this.#count}`;
    const answer = new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(request_id);
        reject(new HostError('timeout', `the host did not answer ${service}`));
      }, TIMEOUT_MS);
      this.#pending.set(request_id, { resolve, reject, timer });
    });
    try {
      await this.#send('host_request', { service, args, request_id });
    } catch (error) {
      this.settle({ request_id, result: null, error: { code: 'not_sent', message: String(error) } });
    }
    return (await answer) as Result<S>;
  }

  /** Takes in an answer of the host; one that nobody waits for is dropped. */
  settle({ request_id, result, error }: HostMessages['tool_result']): void {
    const pending = this.#pending.get(request_id);
    if (pending === undefined) return;
    this.#pending.delete(request_id);
    clearTimeout(pending.timer);
    if (error === null) pending.resolve(result);
    else pending.reject(new HostError(error.code, error.message));
  }

  /** Through the host, which refuses private addresses. 30 s, 10 MB. */
  async fetch(url: string, options: FetchOptions = {}): Promise<FetchResponse> {
    return new FetchResponse(await this.request('http_fetch', { ...options, url }));
  }

  /** Into the plugin's events log. Never fails, and need not be awaited. */
  log(level: LogLevel, message: string): void {
    void this.#send('log', { level, message }).catch(() => {});
  }

  /** The value of a named secret of the company; granted by name, as `secret:NAME`. */
  async secret(name: string): Promise<string> {
    return (await this.request('secret', { name })).value;
  }

  /** Values of the plugin's own, kept with the company's data. Capability `kv`. */
  readonly kv = {
    get: async (key: string): Promise<KvValue> => this.#one({ op: 'get', key }),
    /** @param if_version set only where the value there has this version, 0 where there is to be none yet */
    set: async (key: string, value: unknown, if_version?: number): Promise<KvValue> =>
      this.#one({ op: 'set', key, value, ...(if_version !== undefined && { if_version }) }),
    delete: async (key: string): Promise<KvValue> => this.#one({ op: 'delete', key }),
    list: async (options: { prefix?: string; after?: string; limit?: number } = {}): Promise<KvList> =>
      this.#one({ op: 'list', ...options }),
    /** All of them, or none. */
    transaction: async (ops: KvOperation[]): Promise<readonly Record<string, unknown>[]> =>
      (await this.request('kv', { ops })).results,
  };

  async #one<T>(op: KvOperation): Promise<T> {
    const [result] = await this.kv.transaction([op]);
    return result as T;
  }

  /** An issue is named by its id or its identifier (`ABC-12`). Capabilities `issues.read` and `issues.comment`. */
  readonly issues = {
    /** With its newest comments. */
    get: async (issue: string): Promise<Record<string, unknown>> => this.request('issues.read', { issue }),
    list: async (options: Omit<Args<'issues.read'>, 'issue'> = {}): Promise<Record<string, unknown>> =>
      this.request('issues.read', options),
    comment: async (issue: string, body_markdown: string): Promise<string> =>
      (await this.request('issues.comment', { issue, body_markdown })).comment_id,
  };

  /** Figures of the plugin on the service's metrics page. Capability `metrics`. */
  readonly metrics = {
    count: async (name: string, value = 1): Promise<void> => {
      await this.request('metrics', { name, kind: 'counter', value });
    },
    gauge: async (name: string, value: number): Promise<void> => {
      await this.request('metrics', { name, kind: 'gauge', value });
    },
  };
}
