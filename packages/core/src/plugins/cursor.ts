import type { CursorName } from '../events/index.ts';

/** The durable event cursor of a plugin that subscribes to events. */
export const pluginCursor = (plugin_id: string): CursorName => ({ consumer: 'plugins', name: plugin_id });
