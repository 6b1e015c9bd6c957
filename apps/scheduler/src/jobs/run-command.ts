import type { CommandHandler } from '@acp/queue';

/** The awaited commands that schedulers answer (decisions 6), by name. Each has its handler here. */
export const commandHandlers: Readonly<Record<string, CommandHandler>> = {};
