import type { CommandCatalogue } from '@acp/contract';
import type { CommandHandlers } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

/** The command `refresh-mcp-server {server_id}`: what stands in the way of it stands in the row, and is no error. */
export function refreshMcpServerCommand({
  mcp_servers,
}: Pick<SchedulerContext, 'mcp_servers'>): CommandHandlers<CommandCatalogue>['refresh-mcp-server'] {
  return async ({ server_id }, { signal }) => {
    await mcp_servers.refresh(server_id, signal);
    return {};
  };
}
