/** Determines a request's era from the request itself, and enforces what the stateless era requires. */
import type { IncomingHttpHeaders } from 'node:http';
import { INVALID_PARAMS, isObject, RpcError, type RpcRequest } from '../json-rpc/messages.ts';
import { HEADER_MISMATCH, STATELESS_VERSION, UNSUPPORTED_VERSION, VERSIONS } from './protocol.ts';

export type Era = 'sessions' | 'stateless';

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';

/** The parameter that names a request's subject, which `Mcp-Name` repeats. */
const namedBy: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/**
 * @throws RpcError (HTTP 400) for an unknown version, and in the stateless era for a request that lacks required fields or
 * whose headers contradict it
 */
export function eraOf(request: RpcRequest, headers: IncomingHttpHeaders): Era {
  const header = one(headers['mcp-protocol-version']);
  const { _meta } = request.params;
  const meta = isObject(_meta) ? _meta : {};
  const said = meta[VERSION_KEY];
  const isStateless =
    header === STATELESS_VERSION || said !== undefined || request.method === 'server/discover';
  if (!isStateless) {
    // A client that initializes negotiates the version in the body.
    if (header !== undefined && request.method !== 'initialize') requireKnown(header);
    return 'sessions';
  }
  if (typeof said !== 'string' || !isObject(meta[CAPABILITIES_KEY]))
    throw refused(INVALID_PARAMS, `params._meta must have ${VERSION_KEY} and ${CAPABILITIES_KEY}`);
  if (header !== said) throw refused(HEADER_MISMATCH, `MCP-Protocol-Version must be ${said}, as in _meta`);
  if (said !== STATELESS_VERSION) throw unsupported(said);
  requireHeaders(request, headers);
  return 'stateless';
}

function requireHeaders({ method, params }: RpcRequest, headers: IncomingHttpHeaders): void {
  if (one(headers['mcp-method']) !== method)
    throw refused(HEADER_MISMATCH, `Mcp-Method must be ${JSON.stringify(method)}, as in the body`);
  const field = Object.hasOwn(namedBy, method) ? namedBy[method]! : undefined;
  const name = field === undefined ? undefined : params[field];
  if (typeof name === 'string' && decoded(one(headers['mcp-name'])) !== name)
    throw refused(HEADER_MISMATCH, `Mcp-Name must be params.${field}`);
}

/** Decodes `=?base64?…?=`, the form of values that do not fit in a header. */
function decoded(value: string | undefined): string | undefined {
  const packed = value === undefined ? null : /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value);
  return packed ? Buffer.from(packed[1]!, 'base64').toString('utf8') : value;
}

function requireKnown(version: string): void {
  if (!VERSIONS.includes(version)) throw unsupported(version);
}

const unsupported = (requested: string): RpcError =>
  refused(UNSUPPORTED_VERSION, 'unsupported protocol version', { supported: VERSIONS, requested });

const refused = (code: number, message: string, data?: Record<string, unknown>): RpcError =>
  new RpcError(code, message, { status: 400, ...(data && { data }) });

const one = (value: string | string[] | undefined): string | undefined =>
  (Array.isArray(value) ? value[0] : value)?.trim();
