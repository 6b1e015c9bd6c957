import type { CommandHandler } from '@acp/queue';
import { testAdapterCommand } from '../commands/test-adapter.ts';
import { testInstanceProvidersCommand, testProviderCommand } from '../commands/test-providers.ts';
import type { SchedulerContext } from '../context.ts';

/** The awaited commands that schedulers answer (decisions 6), by name. Each has its handler here. */
export function commandHandlers(context: SchedulerContext): Readonly<Record<string, CommandHandler>> {
  return {
    'test-adapter': testAdapterCommand(context),
    'test-provider': testProviderCommand(context),
    'test-instance-providers': testInstanceProvidersCommand(context),
  };
}
