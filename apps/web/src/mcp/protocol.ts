/** JSON-RPC 2.0 as the Model Context Protocol speaks it: what a message is, versions, errors. */

/** Those that begin with `initialize`, the latest first. */
export const SESSION_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
/** Without sessions: every request says for itself which version it speaks. */
export const STATELESS_VERSION = '2026-07-28';
export const VERSIONS: readonly string[] = [STATELESS_VERSION, ...SESSION_VERSIONS];

export const INVALID_REQUEST = -32_600;
export const METHOD_NOT_FOUND = -32_601;
export const INVALID_PARAMS = -32_602;
/** Of the eras with sessions; later it is INVALID_PARAMS. */
export const RESOURCE_NOT_FOUND = -32_002;
export const HEADER_MISMATCH = -32_020;
export const UNSUPPORTED_VERSION = -32_022;

/** An error object of the protocol. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: Record<string, unknown> | undefined;
  /** Of the HTTP answer: clients of the older eras read error objects in a 200 only. */
  readonly status: number;

  constructor(
    code: number,
    message: string,
    options: { data?: Record<string, unknown>; status?: number } = {},
  ) {
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

const malformed = (message: string): RpcError => new RpcError(INVALID_REQUEST, message, { status: 400 });

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A request; null for a notification, or for an answer to something that we never ask: neither is answered.
 * @throws RpcError for what is no message
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

/** Undefined where it can't be told. */
export function idOf(body: unknown): string | number | undefined {
  if (!isObject(body)) return undefined;
  const { id } = body;
  return typeof id === 'string' || Number.isSafeInteger(id) ? (id as string | number) : undefined;
}

/** @throws RpcError where it is absent or no text */
export function textParam(params: Params, name: string): string {
  const value = params[name];
  if (typeof value !== 'string' || value === '') throw invalidParams(`${name} must be a string`);
  return value;
}

/** @throws RpcError for one that is no text */
export function cursorParam({ cursor }: Params): string | undefined {
  if (cursor === undefined || cursor === null) return undefined;
  if (typeof cursor !== 'string') throw invalidParams('invalid cursor');
  return cursor;
}
