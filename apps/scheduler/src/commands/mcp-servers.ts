import { Actor, type CommandCatalogue, createValidator } from '@acp/contract';
import { notFound } from '@acp/kernel';
import type { CommandHandlers } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

type Handlers = CommandHandlers<CommandCatalogue>;

const readActor = createValidator(Actor, 'actor');

/** Operations on MCP servers that others request from this scheduler. The requester has already checked the rights. */
export function mcpServerCommandHandlers({
  mcp_servers,
}: Pick<SchedulerContext, 'mcp_servers'>): Pick<
  Handlers,
  'refresh-mcp-server' | 'list-mcp-program' | 'call-mcp-program'
> {
  return {
    // A failed listing is recorded in the row, and is not an error of the command.
    'refresh-mcp-server': async ({ server_id }, { signal }) => {
      await mcp_servers.refresh(server_id, signal);
      return {};
    },
    'list-mcp-program': async ({ server_id }, { signal }) => {
      await mcp_servers.refresh(server_id, signal);
      return {};
    },
    'call-mcp-program': async ({ server_id, name, input_schema, input }, { actor, company_id, signal }) => {
      if (company_id === null) throw notFound();
      const caller = { actor: readActor(actor), company_id, input };
      const tool = { server_id, remote_name: name, input_schema };
      return { answer: await mcp_servers.call(tool, caller, signal) };
    },
  };
}
