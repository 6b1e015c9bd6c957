import type { ChannelHold, ChannelRow } from '@acp/core';
import type { Database } from '@acp/db';
import type { Logger, Vault } from '@acp/kernel';
import type { FileStore } from '@acp/storage';
import type { LiveTexts } from './live-texts.ts';
import type { ChannelConfig } from './vendor-api.ts';

export interface ChannelParts {
  database: Database;
  logger: Logger;
  vault: Vault;
  files: FileStore;
  config: ChannelConfig;
  texts: LiveTexts;
}

/** What the workers of one channel get in addition. */
export interface WorkerParts extends ChannelParts {
  hold: ChannelHold;
  channel: ChannelRow;
  signal: AbortSignal;
}
