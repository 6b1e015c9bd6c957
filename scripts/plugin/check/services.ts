/** The host's services, as far as a plugin can be tested without a host. */
import { createValidator, hostServices, type HostService, type KvOperation } from '@acp/contract';
import { acceptedArgs } from '@acp/plugin-protocol';

export class Refusal extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export interface ServiceOptions {
  grants: readonly string[];
  secrets: Readonly<Record<string, string>>;
  network: boolean;
}

const MAX_BODY = 10_000_000;

export class FakeServices {
  readonly #options: ServiceOptions;
  readonly #kv = new Map<string, { value: unknown; version: number }>();
  /** Services called, with the number of calls. */
  readonly asked = new Map<string, number>();

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  get capabilities(): string[] {
    const { grants, secrets } = this.#options;
    return ['http_fetch', 'log', ...grants, ...Object.keys(secrets).map((name) => `secret:${name}`)];
  }

  /** Throws a `Refusal`, or an error about the arguments. */
  async answer(service: string, args: unknown): Promise<unknown> {
    this.asked.set(service, (this.asked.get(service) ?? 0) + 1);
    if (!Object.hasOwn(hostServices, service))
      throw new Refusal('not_found', `there is no service ${service}`);
    const known = service as HostService;
    if (known !== 'secret' && !this.capabilities.includes(service))
      throw new Refusal('not_granted', `${service} is not granted: --grant ${service}`);
    createValidator(hostServices[known].args, `${service}: args`)(acceptedArgs(known, args));
    return this.#answers[known](args as never);
  }

  readonly #answers: Record<HostService, (args: never) => unknown> = {
    http_fetch: (args: { url: string; method?: string; headers?: Record<string, string>; body?: string }) =>
      this.#fetch(args),
    log: () => null,
    secret: ({ name }: { name: string }) => {
      const value = this.#options.secrets[name];
      if (value === undefined)
        throw new Refusal('not_granted', `secret:${name} is not granted: --secret ${name}=value`);
      return { value };
    },
    kv: ({ ops }: { ops: KvOperation[] }) => {
      const before = new Map(this.#kv);
      try {
        return { results: ops.map((op) => this.#operate(op)) };
      } catch (error) {
        this.#kv.clear();
        for (const [key, value] of before) this.#kv.set(key, value);
        throw error;
      }
    },
    'issues.read': ({ issue }: { issue?: string }) => {
      if (issue === undefined) return { issues: [], next_cursor: null };
      throw new Refusal('not_found', 'the check knows no issues');
    },
    'issues.comment': () => ({ comment_id: '00000000-0000-4000-8000-000000000003' }),
    metrics: () => null,
  };

  async #fetch({
    url,
    method,
    headers,
    body,
  }: {
    url: string;
    method?: string;
    headers?: object;
    body?: string;
  }) {
    if (!this.#options.network) throw new Refusal('unavailable', 'the check fetches nothing: --network');
    const response = await fetch(url, {
      method: method ?? 'GET',
      headers: { ...headers },
      body: body ?? null,
      signal: AbortSignal.timeout(30_000),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    // A line has no room for more; the host would put it into a file.
    const text = bytes.subarray(0, Math.min(MAX_BODY, 500_000)).toString('utf8');
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: text,
      body_encoding: 'utf8',
      truncated: bytes.length > 500_000,
    };
  }

  #operate(op: KvOperation): object {
    if (op.op === 'list') return this.#list(op);
    const found = this.#kv.get(op.key) ?? { value: null, version: 0 };
    if (op.op === 'get') return found;
    if (op.if_version !== undefined && op.if_version !== found.version)
      throw new Refusal('conflict', `${op.key} has version ${found.version}`);
    if (op.op === 'delete') {
      this.#kv.delete(op.key);
      return { value: null, version: 0 };
    }
    const set = { value: op.value, version: found.version + 1 };
    this.#kv.set(op.key, set);
    return set;
  }

  #list({ prefix = '', after = '', limit = 100 }: Extract<KvOperation, { op: 'list' }>): object {
    const keys = [...this.#kv.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted();
    return { keys: keys.slice(0, limit), more: keys.length > limit };
  }
}
