/**
 * Turns the text of an environment variable into the value that its schema describes. A reader throws an Error whose
 * message completes the sentence "<NAME>: …" and never repeats a text that may be a secret.
 */
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { isAbsolute, resolve } from 'node:path';
import { repositoryRoot } from './repository-root.ts';
import type { TSchema } from 'typebox';
import { parseBytes } from './bytes.ts';
import { readMcpCommands } from './config-mcp.ts';
import { parseTrustedProxies } from './trusted-proxies.ts';

/** The schema keywords that are evaluated here; `accepts` and `read` of `formats` belong together. */
export interface VariableSchema {
  type?: string;
  format?: string;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  /** The default as text; `default_note` describes it in words where it depends on other variables. */
  default?: string | number;
  default_note?: string;
  description?: string;
  /** The value is scrubbed from logs (`configSecrets`). */
  secret?: boolean;
  /** A malformed value silently falls back to the default (specification, /readyz). */
  lenient?: boolean;
}

interface Format {
  accepts: string;
  read(text: string): unknown;
}

/** A segment that is more than dots. */
const SEGMENT = '[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*';
const KEY_PREFIX = new RegExp(`^(?:${SEGMENT}(?:/${SEGMENT})*)?$`);
const LONGEST_PREFIX = 100;

export const formats: Record<string, Format> = {
  'backup-schedule': {
    accepts: 'a cron expression of five fields, or off',
    read: (text) => (/^(?:off|\S+(?: \S+){4})$/.test(text) ? text : fail()),
  },
  boolean: {
    accepts: 'true or false',
    read: (text) => (/^(true|false)$/i.test(text) ? text.toLowerCase() === 'true' : fail()),
  },
  bytes: {
    accepts: 'a size such as 25MB, 25MiB or a number of bytes',
    read: (text) => parseBytes(text) || fail(),
  },
  'cidr-list': {
    accepts: 'a comma list of IP addresses and CIDRs',
    read: parseTrustedProxies,
  },
  command: {
    accepts: 'a program and its arguments, separated by blanks; quotes keep blanks together',
    read: readCommand,
  },
  email: {
    accepts: 'an email address',
    read: (text) => (isEmail(text) ? text : fail()),
  },
  'email-list': {
    accepts: 'a comma list of email addresses',
    read: (text) => list(text).map((each) => (isEmail(each) ? each : fail(`"${each}" is none`))),
  },
  'encryption-key': {
    accepts: '32 bytes as 64 hex characters or base64',
    read: readKey,
  },
  'encryption-key-list': {
    accepts: 'a comma list of keys, each 32 bytes as 64 hex characters or base64',
    read: (text) => list(text).map(readKey),
  },
  'folder-map': {
    accepts: 'a comma list of <company id or slug>=<absolute folder>',
    read: readFolders,
  },
  'header-list': {
    accepts: 'a comma list of <name>=<value>, values percent-encoded',
    read: readHeaders,
  },
  'host-list': {
    accepts: 'a comma list of host names, each with or without a port',
    read: (text) => list(text).map(readHost),
  },
  'http-url': {
    accepts: 'an http or https URL',
    read: readHttpUrl,
  },
  'ip-address': {
    accepts: 'an IP address, with or without a port: 10.0.0.53, 10.0.0.53:5353, [fd00::53]:5353',
    read: (text) => (isIpAndPort(text) ? text : fail()),
  },
  'issuer-url': {
    accepts: 'an https URL, or an http URL on loopback',
    read: readIssuerUrl,
  },
  'key-prefix': {
    accepts: 'a folder of at most 100 characters, without slashes at its ends',
    read: (text) => (text.length <= LONGEST_PREFIX && KEY_PREFIX.test(text) ? text : fail()),
  },
  mailbox: {
    accepts: 'an email address, or a name and one: Harbour <alerts@example.com>',
    read: (text) => (isEmail(/^[^<>\r\n"]*<([^<>]+)>$/.exec(text)?.[1] ?? text) ? text : fail()),
  },
  'mcp-commands': {
    accepts:
      'JSON: {"<name>": {"command": ["<program>", "<argument>", …], "description"?, "env"?: ["<VARIABLE>", …], "readable"?: ["<path>", …], "image"?}}',
    read: readMcpCommands,
  },
  'memory-limit': {
    accepts: 'a size such as 512m or 2g',
    read: (text) => (/^[1-9]\d{0,15}[bkmg]?$/i.test(text) ? text.toLowerCase() : fail()),
  },
  'name-list': {
    accepts: 'a comma list of names',
    read: list,
  },
  'network-name': {
    accepts: 'the name of a container network',
    read: (text) => (/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text) ? text : fail()),
  },
  path: {
    accepts: 'a path; a relative one is taken from the root of the checkout',
    read: (text) => (isAbsolute(text) ? text : resolve(repositoryRoot, text)),
  },
  'postgres-url': {
    accepts: 'a postgres:// URL',
    read: readPostgresUrl,
  },
  region: {
    accepts: 'a region such as eu-central-1',
    read: (text) => (/^[a-z]{2}(-[a-z]+)+-\d{1,2}$/.test(text) ? text : fail()),
  },
  'smtp-url': {
    accepts: 'an smtp:// or smtps:// URL',
    read: readSmtpUrl,
  },
  'telegram-chat': {
    accepts: 'the number of a chat, or @channel',
    read: (text) => (/^(-?\d{1,20}|@\w{1,64})$/.test(text) ? text : fail()),
  },
  'telegram-token': {
    accepts: 'the token of a bot, as in 123:ABC',
    read: (text) => (/^\d{1,20}:[\w-]{1,100}$/.test(text) ? text : fail()),
  },
  'variable-list': {
    accepts: 'a comma list of names of environment variables',
    read: (text) =>
      list(text).map((name) => (/^[A-Za-z_]\w*$/.test(name) ? name : fail(`"${name}" is none`))),
  },
};

/** Parses a trimmed, non-empty text. Throws an Error that says what is accepted. */
export function readVariable(schema: VariableSchema, text: string): unknown {
  const format = schema.format ? formats[schema.format] : undefined;
  if (format) {
    try {
      return format.read(text);
    } catch (error) {
      const detail = error instanceof Error && error.message !== '' ? `: ${error.message}` : '';
      throw new Error(`must be ${format.accepts}${detail}`, { cause: error });
    }
  }
  const value = readPlain(schema, text);
  if (value === undefined) throw new Error(`must be ${accepts(schema)}`);
  return value;
}

/** Describes what the variable accepts, for errors and the generated reference. */
export function accepts(schema: VariableSchema): string {
  if (schema.format) return formats[schema.format]?.accepts ?? schema.format;
  if (schema.enum) return `one of ${schema.enum.join(', ')}`;
  if (schema.type === 'integer') return `a whole number ${range(schema)}`;
  if (schema.type === 'number') return `a number ${range(schema)}`;
  const { minLength = 0 } = schema;
  return minLength > 1 ? `a text of at least ${minLength} characters` : 'a text';
}

const range = ({ minimum, maximum }: VariableSchema): string =>
  maximum === undefined ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;

/** TypeBox types hide their keywords; this exposes those that a variable may carry. */
export function keywords(schema: TSchema): VariableSchema {
  return schema;
}

const isEmail = (text: string): boolean => /^[^\s@<>,]+@[^\s@<>,]+$/.test(text);

function readPlain(schema: VariableSchema, text: string): unknown {
  if (schema.enum) return schema.enum.includes(text) ? text : undefined;
  if (schema.type === 'string') return text.length >= (schema.minLength ?? 0) ? text : undefined;
  const pattern = schema.type === 'integer' ? /^-?\d{1,15}$/ : /^-?\d{1,15}(\.\d{1,15})?$/;
  const value = Number(text);
  const inRange = value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity);
  return pattern.test(text) && inRange ? value : undefined;
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function readKey(text: string): Buffer {
  const isHex = /^[0-9a-f]{64}$/i.test(text);
  if (!isHex && !/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) fail();
  // Buffer's base64 decoder also accepts the URL-safe alphabet.
  return Buffer.from(text, isHex ? 'hex' : 'base64');
}

// A company with several folders has several entries.
function readFolders(text: string): Record<string, string[]> {
  const folders = new Map<string, string[]>();
  for (const entry of list(text)) {
    const [, company, folder] = /^([0-9a-z-]+)=(.+)$/i.exec(entry) ?? [];
    if (company === undefined || folder === undefined || !isAbsolute(folder)) fail(`"${entry}" is none`);
    const key = company.toLowerCase();
    folders.set(key, [...(folders.get(key) ?? []), folder]);
  }
  return Object.fromEntries(folders);
}

// Same syntax as in the OpenTelemetry libraries. Malformed input is not repeated: the values are keys.
function readHeaders(text: string): Record<string, string> {
  const pairs = list(text).map((entry, index) => {
    const [, name, value] = /^([\w-]+)\s*=\s*([\x21-\x7e]*)$/.exec(entry) ?? [];
    if (name === undefined || value === undefined) fail(`entry ${index + 1} is none`);
    return [name.toLowerCase(), decodeURIComponent(value)];
  });
  return Object.fromEntries(pairs);
}

function readHost(text: string): string {
  if (!/^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i.test(text)) fail(`"${text}" is no host`);
  return text.toLowerCase();
}

// The driver decodes names and password; "%zz" and "%e2" would fail there, far from the variable's name.
function readPostgresUrl(text: string): string {
  // The driver would treat it as a host name, or mistake a standby for the primary.
  if (
    /^[a-z]+:\/\/(?:[^/?]*@)?[^@/?]*,[^@/?]*(?:[/?]|$)|[?&](?:host=[^&]*(?:,|%2c)|target_session_attrs=)/i.test(
      text,
    )
  )
    fail('with one host, an address that follows the primary');
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) fail();
  const { username, password, pathname } = new URL(text);
  assertDecodable(username + password + pathname);
  return text;
}

function assertDecodable(text: string): void {
  try {
    decodeURIComponent(text);
  } catch {
    fail('% in a name or password is written %25');
  }
}

function readHttpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : fail();
  if (url.protocol !== 'http:' && url.protocol !== 'https:') fail();
  if (url.username || url.password) fail('without credentials');
  // An empty one as well: paths are appended.
  if (/[?#]/.test(url.href)) fail('without a query or fragment');
  return url.href.replace(/\/+$/, '');
}

// The mailer would accept any text and only fail at the first mail.
function readSmtpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : fail();
  if (!/^smtps?:$/.test(url.protocol) || url.hostname === '') fail();
  assertDecodable(url.username + url.password);
  return text;
}

// Kept verbatim except for a trailing slash: issuer names are compared character by character.
function readIssuerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : fail();
  readHttpUrl(text);
  // Codes, secrets and tokens would travel in plain text.
  if (url.protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) fail();
  return url.pathname === '/' ? url.origin : text;
}

// Never passed to a shell: nothing is expanded, and quotes are the only way to include a space in an argument.
function readCommand(text: string): string[] {
  const quoted = /"([^"]*)"|'([^']*)'/g;
  if (/["']/.test(text.replaceAll(quoted, ''))) fail('a quote is not closed');
  const words = text.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  return words.map((word) => word.replaceAll(quoted, '$1$2'));
}

function fail(message = ''): never {
  throw new Error(message);
}

function isIpAndPort(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, six = '', four = '', port = ''] = /^(?:\[([^\]]+)\]|([\d.]+)):(\d{1,5})$/.exec(text) ?? [];
  return (isIPv6(six) || isIPv4(four)) && Number(port) >= 1 && Number(port) <= 65_535;
}
