import type { ProviderSpec } from '@acp/adapters';
import type { Pricing } from '@acp/contract';
import type { ClaimedRun, Prices, ToolRegistry } from '@acp/core';
import type { Database } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import type { Storage } from '@acp/storage';
import type { Recall } from './kinds/execution-kind.ts';
import type { WorkspaceSources } from '../workspaces/sources.ts';
import type { TranscriptWriter } from './transcript-writer.ts';

/** What a scheduler needs to execute its runs. */
export interface ExecutionSettings {
  database: Database;
  config: Config;
  logger: Logger;
  /** The instance's own provider; null if none is configured. */
  provider: ProviderSpec | null;
  /** From the operator's file. */
  pricing: Pricing;
  /** Decrypts the secrets that configurations refer to. */
  vault: Vault;
  /** Stores agents' files. */
  storage: Storage;
  /** The tools that `/mcp:` lines call. */
  tools: ToolRegistry;
  /** Receives the transcripts of all its runs. */
  transcripts: TranscriptWriter;
  /** Folders of issues in which agents' programs work. */
  workspaces: WorkspaceSources;
  /** Looks up the company's knowledge for prompts. */
  recall: Recall;
  /** Called when the end of a run is written, with a queued run that it may have been blocking and that has no job. */
  takeNext: (run_id: string) => void;
}

/** The prices of a run's calls. */
export const pricesOf = ({ pricing }: ExecutionSettings, run: ClaimedRun): Prices => ({
  file: pricing,
  company: run.prices,
});
