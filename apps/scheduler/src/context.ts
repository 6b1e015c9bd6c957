import type { Database } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import type { ToolRegistry } from '@acp/core';
import type { Queue } from '@acp/queue';
import type { Storage } from '@acp/storage';
import type { ChannelHost } from './channels/channel-host.ts';
import type { RunPool } from './execution/run-pool.ts';
import type { KnowledgeKeeper } from './knowledge/knowledge-keeper.ts';
import type { MessageSender } from './messages/message-sender.ts';
import type { McpServers } from './mcp/mcp-servers.ts';
import type { PluginHost } from './plugins/plugin-host.ts';
import type { TickCounters } from './tick-counters.ts';
import type { PeerLink } from './federation/peer-link.ts';
import type { WorkspaceSources } from './workspaces/sources.ts';
import type { WebhookSender } from './webhooks/webhook-sender.ts';

/** What the process's consumers and timers work with. */
export interface SchedulerContext {
  config: Config;
  logger: Logger;
  database: Database;
  storage: Storage;
  /** URL of the database itself, bypassing any pooler. */
  direct_url: string;
  vault: Vault;
  queue: Queue;
  counters: TickCounters;
  pool: RunPool;
  /** The tools that `/mcp:` lines and MCP clients can call. */
  tools: ToolRegistry;
  /** Sends events to integrators' webhooks. */
  webhooks: Pick<WebhookSender, 'kick'>;
  /** Sends mail, and messages to the operator's channels. */
  messages: Pick<MessageSender, 'kick'>;
  /** Talks to people in Slack and Telegram. */
  channels: Pick<ChannelHost, 'kick'>;
  /** Manages peers and what was delegated to them. */
  peers: Pick<PeerLink, 'kick' | 'refresh'>;
  /** Runs this scheduler's share of the plugins. */
  plugins: Pick<PluginHost, 'kick' | 'leases' | 'runner'>;
  /** Outside MCP servers: lists their tools when due. */
  mcp_servers: Pick<McpServers, 'call' | 'kick' | 'leases' | 'refresh'>;
  /** Splits what is written into passages for the knowledge search. */
  knowledge: Pick<KnowledgeKeeper, 'kick' | 'embedQuestion'>;
  /** Folders of issues. */
  workspaces: WorkspaceSources;
  /** This process's name in `claimed_by`. */
  claimed_by: string;
  started_at: Date;
}

/** What timers need: they claim no runs and handle no jobs. */
export type TimerContext = Omit<SchedulerContext, 'queue' | 'pool' | 'tools'>;

/** Periodic work. */
export interface TimerRow {
  name: string;
  interval_sec: number;
  /** If set, the work returns how long it may rest; this is the maximum. */
  rest_sec?: number;
  work: (context: TimerContext, signal: AbortSignal) => Promise<number | void>;
}
