/** JSON-RPC 2.0 over HTTP, as used by the protocols here: messages and errors. */

const INVALID_REQUEST = -32_600;
export const METHOD_NOT_FOUND = -32_601;
export const INVALID_PARAMS = -32_602;

/** An error object of the protocol. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  /** Status of the HTTP answer: most clients read error objects only from a 200. */
  readonly status: number;

  constructor(code: number, message: string, options: { data?: unknown; status?: number } = {}) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = options.data;
    this.status = options.status ?? 200;
  }
}

export const invalidParams = (message: string): RpcError => new RpcError(INVALID_PARAMS, message);

export type Params = Readonly<Record<string, unknown>>;

export interface RpcRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: Params;
}

export const malformed = (message: string): RpcError =>
  new RpcError(INVALID_REQUEST, message, { status: 400 });

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A request; null for a notification, or for a response to a request that we never send: neither is answered.
 * @throws RpcError for anything that is not a message
 */
export function readMessage(body: unknown): RpcRequest | null {
  if (body === undefined) throw malformed('a JSON body is required');
  if (Array.isArray(body)) throw malformed('batches are not supported: send one message a request');
  if (!isObject(body)) throw malformed('a message is an object');
  const { jsonrpc, method, params = {} } = body;
  if (jsonrpc !== '2.0') throw malformed('jsonrpc must be "2.0"');
  if (method === undefined && ('result' in body || 'error' in body)) return null;
  if (typeof method !== 'string') throw malformed('method must be a string');
  const id = idOf(body);
  if (id === undefined) {
    if ('id' in body) throw malformed('id must be a string or an integer');
    return null;
  }
  if (!isObject(params)) throw invalidParams('params must be an object');
  return { id, method, params };
}

/** Undefined if there is no valid id. */
export function idOf(body: unknown): string | number | undefined {
  if (!isObject(body)) return undefined;
  const { id } = body;
  return typeof id === 'string' || Number.isSafeInteger(id) ? (id as string | number) : undefined;
}
