/** Doors beside the API, for programs that speak a protocol: MCP, which does what the API's rows do, and A2A. */
import type { Config } from '@acp/kernel';
import { a2aRoutes } from './a2a/routes.ts';
import type { Route } from './http/handle.ts';
import type { LiveHub } from './live/hub.ts';
import { type McpDeps, mcpRoutes } from './mcp/routes.ts';

export interface ProtocolDeps extends McpDeps {
  readonly config: Pick<Config, 'a2a_wait_sec'>;
  /** Tells clients of agents what becomes of their tasks. */
  readonly hub?: LiveHub | undefined;
}

export const protocolRoutes = (acts: readonly Route[], deps: ProtocolDeps): Route[] => [
  ...mcpRoutes(acts, deps),
  ...a2aRoutes({ hub: deps.hub, wait_sec: deps.config.a2a_wait_sec }),
];
