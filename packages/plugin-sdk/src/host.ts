/** What a plugin can request from the host. `http_fetch` and `log` need no grant. */
import { Body } from './body.ts';
import type { HostMessages, HostServices, PluginMessages } from './protocol.ts';

export type LogLevel = PluginMessages['log']['level'];
type Service = keyof HostServices;
type Args<S extends Service> = HostServices[S]['args'];
type Result<S extends Service> = HostServices[S]['result'];
type KvOperation = Args<'kv'>['ops'][number];

/** Longer than the slowest service takes. */
const TIMEOUT_MS = 40_000;

/** The host refused or failed. */
export class HostError extends Error {
  override name = 'HostError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export type FetchOptions = Omit<Args<'http_fetch'>, 'url'>;

/** The response, whatever its status, including errors. */
export class FetchResponse extends Body {
  readonly status: number;
  readonly ok: boolean;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body exceeded 10 MB and was cut off there. */
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
  /** Null if there is none. */
  value: unknown;
  /** 0 if there is none. */
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
  readonly #pending = new Map<string | number, Pending>();
  #count = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Calls a service by name. Throws `HostError`; its codes are in docs/plugins.md. */
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

  /** Handles a response from the host; an unexpected one is dropped. */
  settle({ request_id, result, error }: HostMessages['tool_result']): void {
    const pending = this.#pending.get(request_id);
    if (pending === undefined) return;
    this.#pending.delete(request_id);
    clearTimeout(pending.timer);
    if (error === null) pending.resolve(result);
    else pending.reject(new HostError(error.code, error.message));
  }

  /** Fetches through the host, which refuses private addresses. 30 s, 10 MB. */
  async fetch(url: string, options: FetchOptions = {}): Promise<FetchResponse> {
    return new FetchResponse(await this.request('http_fetch', { ...options, url }));
  }

  /** Writes to the plugin's event log. Never fails, and need not be awaited. */
  log(level: LogLevel, message: string): void {
    void this.#send('log', { level, message }).catch(() => {});
  }

  /** The value of a named company secret; granted by name, as `secret:NAME`. */
  async secret(name: string): Promise<string> {
    return (await this.request('secret', { name })).value;
  }

  /** The plugin's own values, stored with the company's data. Capability `kv`. */
  readonly kv = {
    get: async (key: string): Promise<KvValue> => this.#one({ op: 'get', key }),
    /** @param if_version only set if the current value has this version; 0: only if there is none */
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

  /** An issue is referenced by id or identifier (`ABC-12`). Capabilities `issues.read` and `issues.comment`. */
  readonly issues = {
    /** With its latest comments. */
    get: async (issue: string): Promise<Record<string, unknown>> => this.request('issues.read', { issue }),
    list: async (options: Omit<Args<'issues.read'>, 'issue'> = {}): Promise<Record<string, unknown>> =>
      this.request('issues.read', options),
    comment: async (issue: string, body_markdown: string): Promise<string> =>
      (await this.request('issues.comment', { issue, body_markdown })).comment_id,
  };

  /** The plugin's own figures on the service's metrics endpoint. Capability `metrics`. */
  readonly metrics = {
    count: async (name: string, value = 1): Promise<void> => {
      await this.request('metrics', { name, kind: 'counter', value });
    },
    gauge: async (name: string, value: number): Promise<void> => {
      await this.request('metrics', { name, kind: 'gauge', value });
    },
  };
}
