/** What the Model Context Protocol adds to JSON-RPC: versions, errors, parsing of parameters. */
import { invalidParams, type Params } from '../json-rpc/messages.ts';

/** Versions that begin with `initialize`, the latest first. */
export const SESSION_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
/** Without sessions: every request names the version it speaks. */
export const STATELESS_VERSION = '2026-07-28';
export const VERSIONS: readonly string[] = [STATELESS_VERSION, ...SESSION_VERSIONS];

/** Used by versions with sessions; the later one uses INVALID_PARAMS. */
export const RESOURCE_NOT_FOUND = -32_002;
export const HEADER_MISMATCH = -32_020;
export const UNSUPPORTED_VERSION = -32_022;

/** @throws RpcError if it is absent or not a string */
export function textParam(params: Params, name: string): string {
  const value = params[name];
  if (typeof value !== 'string' || value === '') throw invalidParams(`${name} must be a string`);
  return value;
}

/** @throws RpcError if it is not a string */
export function cursorParam({ cursor }: Params): string | undefined {
  if (cursor === undefined || cursor === null) return undefined;
  if (typeof cursor !== 'string') throw invalidParams('invalid cursor');
  return cursor;
}
