import type { ProviderSpec } from '@acp/adapters';
import type { Pricing } from '@acp/contract';
import type { ClaimedRun, Prices, ToolRegistry } from '@acp/core';
import type { Database } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import type { Storage } from '@acp/storage';
import type { Recall } from './kinds/execution-kind.ts';
import type { WorkspaceSources } from '../workspaces/sources.ts';
import type { TranscriptWriter } from './transcript-writer.ts';

/** What a scheduler executes all its runs with. */
export interface ExecutionSettings {
  database: Database;
  config: Config;
  logger: Logger;
  /** The instance's own provider; null where none is configured. */
  provider: ProviderSpec | null;
  /** Of the operator's file. */
  pricing: Pricing;
  /** Opens the secrets that configurations refer to. */
  vault: Vault;
  /** Where agents' files lie. */
  storage: Storage;
  /** What `/mcp:` lines call. */
  tools: ToolRegistry;
  /** Where all its runs' transcripts go. */
  transcripts: TranscriptWriter;
  /** Folders of issues, in which agents' programs work. */
  workspaces: WorkspaceSources;
  /** What prompts are told of the company's knowledge. */
  recall: Recall;
}

/** What the calls of a run cost. */
export const pricesOf = ({ pricing }: ExecutionSettings, run: ClaimedRun): Prices => ({
  file: pricing,
  company: run.prices,
});
