import { bounded, connectionFailure, type Scrubber, ServiceError, storableText, stated } from '@acp/kernel';
import { ServerFault } from './bounded-fetch.ts';

/** Maximum length of a server's error message, in characters. */
const LONGEST = 500;

const library = async () => import('@modelcontextprotocol/client');

/** The server answered with an error of the protocol: the connection remains usable. */
export async function isRefusal(error: unknown): Promise<boolean> {
  const { ProtocolError } = await library();
  return error instanceof ProtocolError;
}

/** The server does not know the session and has done nothing. Some servers in use answer 404, some 400. */
export async function hasLostSession(error: unknown): Promise<boolean> {
  const { SdkHttpError } = await library();
  return error instanceof SdkHttpError && (error.status === 404 || error.status === 400);
}

/** Describes an error to people and agents. Scrubbed before it is cut, since a cut could leave part of a secret. */
export async function describeFailure(
  error: unknown,
  timeout_ms: number,
  scrubber: Scrubber,
): Promise<string> {
  return bounded(storableText(scrubber.scrub(await describe(error, timeout_ms))), LONGEST);
}

async function describe(error: unknown, timeout_ms: number): Promise<string> {
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } = await library();
  if (error instanceof ServerFault || error instanceof ServiceError) return error.message;
  if (error instanceof ProtocolError) return `it refused: ${error.message} (${error.code})`;
  if (error instanceof SdkHttpError) {
    if (error.status === 401 || error.status === 403)
      return `its headers give no credentials that it accepts (${error.status})`;
    return `it answered ${error.status ?? 'with an error'}`;
  }
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout) return `no answer in ${timeout_ms / 1000} s`;
    if (error.code === SdkErrorCode.ListPaginationExceeded) return stated('its list of tools has no end');
    if (error.cause !== undefined) return describe(error.cause, timeout_ms);
    // The library's check adds details on further lines.
    return `it does not speak the protocol: ${error.message.split('\n', 1)[0]}`;
  }
  if (isTimeout(error)) return `no answer in ${timeout_ms / 1000} s`;
  if (isMessageError(error)) return stated('it does not speak the protocol: no valid message');
  return connectionFailure(error);
}

const isTimeout = (error: unknown): boolean =>
  error instanceof DOMException && (error.name === 'TimeoutError' || error.name === 'AbortError');

/** Not JSON, or JSON that fails the library's own checks. */
const isMessageError = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'SyntaxError' || ('issues' in error && Array.isArray(error.issues)));
