import type { CommandCatalogue } from '@acp/contract';
import type { CommandHandlers } from '@acp/queue';
import { callToolCommand } from '../commands/call-tool.ts';
import { embedQuestionCommand } from '../commands/embed-question.ts';
import { mcpServerCommandHandlers } from '../commands/mcp-servers.ts';
import { testAdapterCommand } from '../commands/test-adapter.ts';
import { testInstanceProvidersCommand, testProviderCommand } from '../commands/test-providers.ts';
import { pluginCommandHandlers } from '../commands/plugins.ts';
import type { SchedulerContext } from '../context.ts';

/** The awaited commands that schedulers answer (decisions 6), one for each row of their catalogue. */
export function commandHandlers(context: SchedulerContext): CommandHandlers<CommandCatalogue> {
  return {
    'test-adapter': testAdapterCommand(context),
    'test-provider': testProviderCommand(context),
    'call-tool': callToolCommand(context),
    ...mcpServerCommandHandlers(context),
    'test-instance-providers': testInstanceProvidersCommand(context),
    ...pluginCommandHandlers(context),
    'embed-question': embedQuestionCommand(context),
    'refresh-peer': async ({ peer_id }, { signal }) => {
      await context.peers.refresh(peer_id, signal);
      return {};
    },
  };
}
