/**
 * Structured logging. A message is a constant sentence and everything that varies is a field, so that lines can be counted;
 * query strings and bodies are never logged (decisions 7.42).
 */
import { types } from 'node:util';
import winston from 'winston';
import { requestContext } from './request-context.ts';
import type { Scrubber } from './scrubber.ts';
import { printable } from './text.ts';
import { currentTrace } from './tracing.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds the fields to each of its lines. */
  child(fields: LogFields): Logger;
}

export interface LoggerOptions {
  level: LogLevel;
  format: 'json' | 'pretty';
  /** Which process is logging: web, scheduler, launcher, ctl … */
  role: string;
  /** Its secrets never appear in a line. */
  scrubber?: Scrubber;
  /** Destination of the lines; standard output by default. */
  stream?: NodeJS.WritableStream;
}

const ranks: Record<LogLevel, number> = { error: 0, warn: 1, info: 2, debug: 3 };
const colors: Record<LogLevel, number> = { error: 31, warn: 33, info: 32, debug: 90 };

type Entry = {
  time: string;
  level: LogLevel;
  role: string;
  message: string;
  request_id?: string;
  trace_id?: string;
  span_id?: string;
};

/** Streams with an error listener, and whether they still accept lines. */
const alive = new WeakMap<NodeJS.WritableStream, boolean>();

/**
 * If the reader of the log is gone, the service continues without it. Without a listener, the error of writing a line would be an
 * uncaught exception, which is logged, which fails again, endlessly.
 */
function hearErrors(stream: NodeJS.WritableStream): void {
  if (alive.has(stream)) return;
  alive.set(stream, true);
  stream.on('error', () => alive.set(stream, false));
}

export function createLogger(options: LoggerOptions): Logger {
  const { level: least, role, scrubber, stream = process.stdout } = options;
  const format = options.format === 'pretty' ? prettyLine : jsonLine;
  hearErrors(stream);
  const sink = winston.createLogger({
    level: least,
    levels: ranks,
    format: winston.format.printf((info) => String(info.message)),
    transports: [new winston.transports.Stream({ stream })],
  });

  const bind = (bound: LogFields): Logger => {
    const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
      // The cheap exit comes first: suppressed debug lines cost nothing.
      if (ranks[level] > ranks[least] || alive.get(stream) === false) return;
      const entry: Entry = { time: new Date().toISOString(), level, role, message: clean(message, scrubber) };
      // Read here rather than in the sink, which may run in another asynchronous context.
      const context = requestContext.getStore();
      if (context) entry.request_id = context.request_id;
      Object.assign(entry, currentTrace());
      sink.log({ level, message: format(entry, plain({ ...bound, ...fields }, scrubber)) });
    };
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => bind({ ...bound, ...fields }),
    };
  };
  return bind({});
}

function jsonLine(entry: Entry, fields: LogFields): string {
  return printable(JSON.stringify({ ...entry, ...fields }));
}

function prettyLine(entry: Entry, fields: LogFields): string {
  const { time, level, role, message, request_id } = entry;
  const mark = `\x1b[${colors[level]}m${level.padEnd(5)}\x1b[0m`;
  const shown = Object.entries(request_id ? { request_id, ...fields } : fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return `${time.slice(11, 23)} ${mark} ${role}  ${printable(message)}\x1b[90m${printable(shown.join(''))}\x1b[0m`;
}

/** Fields as plain JSON values without secrets; anything JSON can't represent becomes text. Never throws. */
function plain(fields: LogFields, scrubber: Scrubber | undefined): LogFields {
  const ancestors: unknown[] = [];
  const visit = (value: unknown): unknown => {
    if (typeof value === 'string') return clean(value, scrubber);
    if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
    if (value === undefined) return undefined;
    if (typeof value === 'bigint') return value.toString();
    if (typeof value !== 'object') return `[${typeof value}]`;
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ancestors.length >= maxDepth || ancestors.includes(value)) return '[…]';
    ancestors.push(value);
    const children = isError(value) ? errorFields(value) : value;
    const result = Array.isArray(children)
      ? children.map(visit)
      : Object.fromEntries(Object.entries(children).map(([name, child]) => [name, visit(child)]));
    ancestors.pop();
    return result;
  };
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [reserved.has(name) ? `${name}_` : name, visit(value)]),
  );
}

const maxDepth = 6;
const ERRORS_SHOWN = 3;

// A field with such a name gets an underscore, so that it can't pass itself off as the level or the request.
const reserved = new Set(['time', 'level', 'role', 'message', 'request_id', 'trace_id', 'span_id']);

// An allow-list: drivers attach statements and parameters to their errors, which may contain anything.
function errorFields(error: Error): Record<string, unknown> {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const params = valuesOf(error);
  const shown = (text: string | undefined) => (params === '' ? text : text?.replaceAll(params, ''));
  return {
    name: error.name,
    message: shown(error.message),
    code,
    stack: shown(error.stack),
    cause: shownCause(error.cause),
    // By itself, the error of several says only how many there were.
    ...('errors' in error &&
      Array.isArray(error.errors) && { errors: error.errors.filter(isError).slice(0, ERRORS_SHOWN) }),
  };
}

/** Only causes that are errors: libraries attach whole responses there, including tokens and codes. */
function shownCause(cause: unknown): unknown {
  return cause === undefined || isError(cause) ? cause : `[${cause === null ? 'null' : typeof cause}]`;
}

// Errors from another realm are errors too.
const isError = (value: unknown): value is Error => value instanceof Error || types.isNativeError(value);

/** The part of a message in which drizzle quotes the parameters of the failed statement: bodies, hashes, anything. */
function valuesOf({ message }: Error): string {
  const start = message.startsWith('Failed query: ') ? message.indexOf('\nparams: ') : -1;
  return start === -1 ? '' : message.slice(start);
}

function clean(text: string, scrubber: Scrubber | undefined): string {
  return scrubber ? scrubber.scrub(text) : text;
}
