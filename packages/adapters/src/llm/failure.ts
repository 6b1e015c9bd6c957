// Maps reports from providers, the network and the model library to our error categories.

import { EgressError } from '@acp/kernel';
import { AdapterError, type AdapterErrorCategory } from '../adapter-error.ts';
import { longestWaitSec, retryAfterSec } from './retry.ts';

export interface Report {
  status: number | undefined;
  message: string;
  /** All codes and types that the provider gives, in one text. */
  code: string;
  /** Used if there is no status. */
  retryable?: boolean;
  headers?: Pick<Headers, 'get'>;
}

const usedUp =
  /insufficient[_ ]quota|quota|billing|credit balance|insufficient (?:balance|credit|funds)|usage limit|spend(?:ing)? limit|per day/i;
// A 400 has many meanings, so only unmistakable phrases count.
const quotaExhausted = /insufficient[_ ]quota|servicequotaexceeded|credit balance|billing/i;

function categoryOf({ status = 0, message, code, retryable }: Report): AdapterErrorCategory {
  const said = `${code} ${message}`;
  if (status === 402 || (status === 429 && usedUp.test(said))) return 'quota';
  if ((status === 400 || status === 403) && quotaExhausted.test(said)) return 'quota';
  if (status === 401 || status === 403) return 'auth';
  if (status === 404 || status === 405 || (status >= 300 && status < 400)) return 'config';
  if (/model_not_found/i.test(code)) return 'config';
  if ([408, 409, 424, 425, 429].includes(status)) return 'transient';
  if (status >= 500 && status !== 501 && status !== 505) return 'transient';
  return status === 0 && retryable === true ? 'transient' : 'permanent';
}

/** The error for a provider's response: an HTTP status, or an error within a stream. */
export function failureOf(report: Report): AdapterError {
  const { status, headers } = report;
  const wait = headers === undefined ? undefined : retryAfterSec(headers);
  let category = categoryOf(report);
  // A rate limit that lasts longer than a call may wait is a quota with a reset time.
  if (status === 429 && wait !== undefined && wait > longestWaitSec) category = 'quota';
  const message = `${status === undefined ? 'the provider failed' : `the provider answered ${status}`}${
    report.message === '' ? '' : `: ${report.message}`
  }`;
  if (category !== 'quota') return new AdapterError(category, message, { status, retry_after_sec: wait });
  const reset = wait === undefined ? undefined : new Date(Date.now() + wait * 1000);
  return new AdapterError(category, message, { status, retry_after_sec: wait, reset_at: reset });
}

/** The content of an error body in any of the usual shapes. */
export function readErrorBody(text: string): { message: string; code: string } | null {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return null;
  }
  const outer = fieldsOf(body);
  const inner = fieldsOf(outer['error']);
  const words = [
    inner['message'],
    outer['error'],
    outer['message'],
    outer['Message'],
    outer['detail'],
    inner['detail'],
  ];
  const message = words.find((word): word is string => typeof word === 'string' && word !== '') ?? '';
  const codes = [inner['code'], inner['type'], outer['code'], outer['__type'], outer['type']];
  return {
    message,
    code: codes.filter((code) => typeof code === 'string' || typeof code === 'number').join(' '),
  };
}

type Fields = Record<string, unknown>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** System and undici codes of connection failures that may not recur. */
const passingCodes = new Set(
  (
    'ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EAI_AGAIN ENETUNREACH ENETDOWN EHOSTUNREACH ' +
    'UND_ERR_SOCKET UND_ERR_CONNECT_TIMEOUT UND_ERR_CLOSED UND_ERR_DESTROYED'
  ).split(' '),
);
const silentCodes = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);
const garbage = new Set(['AI_JSONParseError', 'AI_TypeValidationError', 'AI_InvalidResponseDataError']);

export const brokenOff = (): AdapterError =>
  new AdapterError('transient', 'the answer broke off before its end');

/** The error for anything thrown by fetch, a response body or the model library. */
export function failureOfThrown(thrown: unknown): AdapterError {
  let last = '';
  let error = thrown;
  // Inspected by fields: some errors come from another realm, where `instanceof Error` is false.
  for (let depth = 0; typeof error === 'object' && error !== null && depth < 8; depth += 1) {
    const fields = { ...error, name: textAt(error, 'name'), message: textAt(error, 'message') };
    const known = failureOfOne(error, fields);
    if (known !== null) return known;
    if (fields.message !== '') last = fields.message;
    error = Reflect.get(error, 'cause');
  }
  return new AdapterError(
    'permanent',
    last === '' ? 'the provider failed' : `the model call failed: ${last}`,
  );
}

function textAt(error: object, field: string): string {
  const value: unknown = Reflect.get(error, field);
  return typeof value === 'string' ? value : '';
}

interface ThrownFields extends Fields {
  name: string;
  message: string;
}

function failureOfOne(error: object, fields: ThrownFields): AdapterError | null {
  if (error instanceof AdapterError) return error;
  if (error instanceof EgressError) return new AdapterError('config', error.message);
  const code = typeof fields['code'] === 'string' ? fields['code'] : '';
  if (silentCodes.has(code)) return new AdapterError('timeout', 'the provider was silent for too long');
  if (code === 'ENOTFOUND') return new AdapterError('config', 'the host of the base URL is not known');
  if (code === 'ECONNREFUSED')
    return new AdapterError('transient', `nobody answers at the address of the provider: ${code}`);
  if (passingCodes.has(code))
    return new AdapterError('transient', `connection to the provider failed: ${code}`);
  if (/^(?:CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED|UNABLE_TO_)/.test(code)) {
    return new AdapterError('config', `the certificate of the base URL is not accepted: ${code}`);
  }
  if (fields.name === 'AI_StreamProviderError') return failureInStream(fields, fields);
  // An error event before any output; failed requests don't get here, and other errors have a cause.
  if (fields.name === 'AI_APICallError' && Reflect.get(error, 'cause') === undefined) {
    return failureInStream(fields, fieldsOf(fields['data']));
  }
  if (fields.name === 'AI_NoOutputGeneratedError' || fields.message.includes('without a finish reason'))
    return brokenOff();
  if (garbage.has(fields.name))
    return new AdapterError('permanent', 'the endpoint sent something that is no chat completion');
  return null;
}

function failureInStream(fields: ThrownFields, details: Fields): AdapterError {
  const status = fields['statusCode'];
  const codes = [details['type'], details['code']].filter((part) => typeof part === 'string');
  return failureOf({
    // The request itself had succeeded.
    status: typeof status === 'number' && status >= 400 ? status : undefined,
    message: fields.message,
    code: codes.join(' '),
    retryable: fields['isRetryable'] === true,
  });
}
