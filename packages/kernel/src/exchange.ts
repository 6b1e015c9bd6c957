/** One request to a server that may be broken or hostile, and its answer: limited in size and time, without our secrets. */
import { connectionFailure, EgressError } from './guarded-fetch.ts';
import { JoinedBytes } from './joined-bytes.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from './json-depth.ts';
import { Scrubber } from './scrubber.ts';
import { mapTexts, storableText } from './text.ts';

interface ExchangeRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

interface ExchangeLimits {
  /** The caller's: when it aborts, its reason is thrown. */
  signal: AbortSignal;
  /** From the request to the last byte of the answer. */
  time_ms: number;
  /** Of the answer's body, decompressed. */
  most_bytes: number;
  /** Secrets in the URL or body; those in headers are known. */
  secrets?: readonly string[];
}

/**
 * `refused`: we don't send such a request; `failed`: there is no complete answer; `late`: not in time; `malformed`: the answer is not what
 * it should be.
 */
type FailureKind = 'refused' | 'failed' | 'late' | 'malformed';

/** The message is for people. There is no cause: errors of drivers quote URLs and headers. */
export class ExchangeFailure extends Error {
  override readonly name = 'ExchangeFailure';
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Of what can be asked for in parts, smaller ones may be answered. */
export class AnswerTooLarge extends ExchangeFailure {
  constructor() {
    super('malformed', 'its answer is too large');
  }
}

// setTimeout turns anything longer into one millisecond.
const LONGEST_TIMER = 2 ** 31 - 1;
/** Characters of an answer in a failure. */
const QUOTED = 300;

/**
 * Redirects are not followed: the request may have credentials. Any status is an answer.
 * @throws ExchangeFailure, or the reason of the caller's signal
 */
export async function exchange(
  send: typeof fetch,
  url: string | URL,
  { method = 'GET', headers = {}, body }: ExchangeRequest,
  { signal, time_ms, most_bytes, secrets = [] }: ExchangeLimits,
): Promise<Answer> {
  const late = AbortSignal.timeout(Math.ceil(Math.min(time_ms, LONGEST_TIMER)));
  try {
    const response = await send(url, {
      method,
      redirect: 'manual',
      headers: { 'user-agent': 'agent-control-plane', ...headers },
      ...(body !== undefined && { body }),
      signal: AbortSignal.any([signal, late]),
    });
    const bytes = await boundedBytes(response, most_bytes);
    return new Answer(response, bytes, new Scrubber([...secrets, ...credentialsIn(headers)]));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ExchangeFailure) throw error;
    if (late.aborted) throw new ExchangeFailure('late', `no answer in ${time_ms / 1000} s`);
    const kind = error instanceof EgressError ? 'refused' : 'failed';
    throw new ExchangeFailure(kind, connectionFailure(error));
  }
}

export class Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly #body: string;
  readonly #scrubber: Scrubber;

  constructor(
    { status, headers }: Pick<Response, 'status' | 'headers'>,
    bytes: Uint8Array,
    scrubber: Scrubber,
  ) {
    this.status = status;
    this.headers = headers;
    this.#body = new TextDecoder().decode(bytes);
    this.#scrubber = scrubber;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status <= 299;
  }

  /** Storable, without the secrets of the request. */
  get text(): string {
    return clean(this.#body, this.#scrubber);
  }

  /** Every text in it is storable and without the secrets of the request. @throws ExchangeFailure */
  json(): unknown {
    return foreignJson(this.#body, this.#scrubber);
  }
}

/** Parses what a server sent: every text in it is storable and free of secrets. @throws ExchangeFailure */
export function foreignJson(json: string, scrubber: Scrubber): unknown {
  if (isNestedDeeper(json, MAX_JSON_DEPTH))
    throw new ExchangeFailure('malformed', 'its answer is nested too deeply');
  try {
    return mapTexts(JSON.parse(json), (text) => clean(text, scrubber));
  } catch {
    const begins = JSON.stringify(clean(json, scrubber).slice(0, QUOTED));
    throw new ExchangeFailure('malformed', `its answer is not JSON: ${begins}`);
  }
}

const clean = (text: string, scrubber: Scrubber): string => storableText(scrubber.scrub(text));

const CREDENTIAL = /auth|cookie|key|password|secret|signature|token/i;

/** The secrets in a request's headers, in all the forms in which its receiver may repeat them. */
function credentialsIn(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (!CREDENTIAL.test(name)) return [];
    const [, scheme = '', credential = ''] = /^([\w-]+) +(.+)$/.exec(value) ?? [];
    if (scheme.toLowerCase() !== 'basic') return [value, credential];
    const login = Buffer.from(credential, 'base64').toString('utf8');
    return [value, credential, login, login.slice(login.indexOf(':') + 1)];
  });
}

async function boundedBytes(response: Response, most: number): Promise<Uint8Array> {
  const bytes = new JoinedBytes();
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    // Leaving the loop closes the connection.
    if (bytes.length + chunk.length > most) throw new AnswerTooLarge();
    bytes.add(chunk);
  }
  return bytes.take();
}
