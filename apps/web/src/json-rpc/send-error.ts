import { httpStatusOf, type ServiceError } from '@acp/kernel';
import type { Response } from 'express';
import { sendJson } from '../http/answer.ts';
import { publicError } from '../http/errors.ts';
import { rpcCode } from '../http/row-errors.ts';
import { idOf, RpcError } from './messages.ts';

/** Protocol errors are ordinary answers. Defects go to the error handler, which logs them. */
export function sendRpcError(response: Response, error: unknown, body: unknown): void {
  if (response.headersSent) throw error;
  const known = knownError(error);
  if (known === null) throw error;
  sendJson(response, known.status, JSON.stringify(errorMessage(known, body)));
}

export const errorMessage = ({ code, message, data }: RpcError, body: unknown): object => ({
  jsonrpc: '2.0',
  id: idOf(body) ?? null,
  error: { code, message, ...(data !== undefined && { data }) },
});

/** Null for a defect. */
export const knownError = (error: unknown): RpcError | null =>
  error instanceof RpcError ? error : asRpcError(publicError(error));

/** For errors behind a resource or a prompt: only an unavailable dependency shows in the status as well. */
function asRpcError(known: ServiceError | null): RpcError | null {
  if (known === null) return null;
  const { kind, message, extra } = known;
  const status = kind === 'unavailable' ? httpStatusOf(kind) : 200;
  return new RpcError(rpcCode(known), message, { status, ...(extra && { data: extra }) });
}
