/** Errors in the format of the protocol that a row speaks (contract, `errors`). */
import type { EndpointRow } from '@acp/contract';
import { type ErrorKind, httpStatusOf, type ServiceError } from '@acp/kernel';
import type { Request, Response } from 'express';
import { sendJson } from './answer.ts';
import { sendError, setErrorHeaders } from './send-error.ts';

/** JSON-RPC's own codes if one fits, else those reserved for servers. */
const INVALID_PARAMS = -32_602;
const rpcCodes: Partial<Record<ErrorKind, number>> = { invalid: INVALID_PARAMS, not_found: INVALID_PARAMS };
/** Who may call, and how much. */
const refusals: ReadonlySet<ErrorKind> = new Set([
  'unauthenticated',
  'forbidden',
  'not_found',
  'too_large',
  'rate_limited',
]);
const PARSE_ERROR = -32_700;
const INTERNAL_ERROR = -32_603;
const SERVER_ERROR = -32_000;

/**
 * In JSON-RPC, what is wrong with the message is an error of the protocol; refusals are HTTP's, with the API's usual body (specification,
 * Errors).
 * @param known null for a defect, whose details are hidden
 * @returns false if the row answers in the usual way
 */
export function sendRowError(
  errors: EndpointRow['errors'],
  known: ServiceError | null,
  request: Request,
  response: Response,
): boolean {
  const message = known?.message ?? 'internal error';
  if (errors === 'sse' && response.headersSent) {
    response.end(`event: error\ndata: ${JSON.stringify({ error: message })}\n\n`);
    return true;
  }
  if (errors !== 'json_rpc' || response.headersSent) return false;
  if (known !== null && refusals.has(known.kind)) {
    sendError(response, known);
    return true;
  }
  if (known !== null) setErrorHeaders(response, known);
  const error = { code: rpcCode(known), message, ...(known?.extra && { data: known.extra }) };
  const body = { jsonrpc: '2.0', id: idOf(request.body), error };
  sendJson(response, known === null ? 500 : httpStatusOf(known.kind), JSON.stringify(body));
  return true;
}

/** What was not found is something that a known method refers to. @param known null for a defect */
export function rpcCode(known: ServiceError | null): number {
  if (known === null) return INTERNAL_ERROR;
  if (known.message === 'malformed JSON') return PARSE_ERROR;
  return rpcCodes[known.kind] ?? SERVER_ERROR;
}

/** Null if the request could not be read that far. */
function idOf(body: unknown): string | number | null {
  if (typeof body !== 'object' || body === null || !('id' in body)) return null;
  return typeof body.id === 'string' || typeof body.id === 'number' ? body.id : null;
}
