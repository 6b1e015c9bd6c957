/** Endpoints besides the API, for programs that speak a protocol: MCP, which mirrors the API's rows, and A2A. */
import type { Config } from '@acp/kernel';
import { a2aRoutes } from './a2a/routes.ts';
import type { Route } from './http/handle.ts';
import type { LiveHub } from './live/hub.ts';
import { type McpDeps, mcpRoutes } from './mcp/routes.ts';

export interface ProtocolDeps extends McpDeps {
  readonly config: Pick<Config, 'a2a_wait_sec'>;
  /** Notifies clients of agents about their tasks. */
  readonly hub?: LiveHub | undefined;
}

export const protocolRoutes = (acts: readonly Route[], deps: ProtocolDeps): Route[] => [
  ...mcpRoutes(acts, deps),
  ...a2aRoutes({ hub: deps.hub, wait_sec: deps.config.a2a_wait_sec }),
];
