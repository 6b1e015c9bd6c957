/** Forms that the specification leaves open: each is accepted, and brought into the contract's. */
import type { HostService } from '@acp/contract';

type LogLevel = 'debug' | 'info' | 'warn' | 'error';

const words: Readonly<Record<LogLevel, readonly string[]>> = {
  debug: ['trace', 'verbose', 'debug'],
  info: ['info', 'information', 'notice'],
  warn: ['warn', 'warning'],
  error: ['error', 'err', 'severe', 'critical', 'crit', 'alert', 'fatal', 'panic', 'emergency', 'emerg'],
};
const levels = new Map(
  Object.entries(words).flatMap(([level, of]) => of.map((word) => [word, level as LogLevel] as const)),
);

/** The level that a word of some logging library means, in any case; `info` for anything else. */
function logLevelOf(level: unknown): LogLevel {
  return (typeof level === 'string' ? levels.get(level.trim().toLowerCase()) : undefined) ?? 'info';
}

const LONGEST_ID = 200;
const LONGEST_SERVICE = 100;
const LONGEST_ERROR = 100_000;

/** Null if no answer could refer to it. */
function requestId(id: unknown): string | number | null {
  if (typeof id === 'string') return id !== '' && id.length <= LONGEST_ID ? id : null;
  return typeof id === 'number' && Number.isFinite(id) ? id : null;
}

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');

/** Whatever a plugin gives as an error; null for none. */
function errorOf(error: unknown): string | Fields | null {
  if (error === undefined || error === null || error === false) return null;
  if (!isObject(error) || !('message' in error || 'code' in error))
    return asText(error).slice(0, LONGEST_ERROR);
  const { message = '', code } = error;
  return {
    message: asText(message).slice(0, LONGEST_ERROR),
    ...(code === undefined ? {} : { code: asText(code) }),
  };
}

const withLevel = (fields: Fields): Fields => ({ ...fields, level: logLevelOf(fields.level) });
const withError = (fields: Fields): Fields => ({ ...fields, error: errorOf(fields.error) });

const payloads = new Map<string, (payload: Fields) => Fields>([
  ['log', ({ level, message }) => ({ level: logLevelOf(level), message: asText(message) })],
  [
    'error',
    ({ message, code }) => ({ message: asText(message), code: code === undefined ? null : asText(code) }),
  ],
  ['tool_result', withError],
  ['job_result', withError],
  [
    'host_request',
    ({ service, args, request_id }) => ({
      service: typeof service === 'string' ? service.slice(0, LONGEST_SERVICE) : '',
      args,
      request_id: requestId(request_id),
    }),
  ],
]);

/** A plugin's payload in the form of the contract, if it is close enough to it. */
export function acceptedPayload(type: string, payload: unknown): unknown {
  // Its content does not matter.
  if (type === 'health_check') return {};
  return isObject(payload) ? (payloads.get(type)?.(payload) ?? payload) : payload;
}

const args = new Map<HostService, (args: Fields) => Fields>([
  ['log', withLevel],
  [
    'http_fetch',
    ({ method, body, ...rest }) => ({
      ...rest,
      method: typeof method === 'string' ? method.toUpperCase() || 'GET' : (method ?? 'GET'),
      body: body === '' ? null : body,
    }),
  ],
]);

/** The arguments of a host service, likewise. */
export function acceptedArgs(service: HostService, given: unknown): unknown {
  const fields = given ?? {};
  return isObject(fields) ? (args.get(service)?.(fields) ?? fields) : fields;
}
