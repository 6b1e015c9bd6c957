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
  /** Of the database itself, past any pooler. */
  direct_url: string;
  vault: Vault;
  queue: Queue;
  counters: TickCounters;
  pool: RunPool;
  /** What `/mcp:` lines and clients of MCP can call. */
  tools: ToolRegistry;
  /** Sends events to where integrators listen. */
  webhooks: Pick<WebhookSender, 'kick'>;
  /** Sends mail, and to the operator's channels. */
  messages: Pick<MessageSender, 'kick'>;
  /** Speaks with people in Slack and Telegram. */
  channels: Pick<ChannelHost, 'kick'>;
  /** Looks after peers and what was delegated to them. */
  peers: Pick<PeerLink, 'kick' | 'refresh'>;
  /** Runs this scheduler's share of the plugins. */
  plugins: Pick<PluginHost, 'kick' | 'leases' | 'runner'>;
  /** Outside MCP servers: their tools are listed when it is time to. */
  mcp_servers: Pick<McpServers, 'call' | 'kick' | 'leases' | 'refresh'>;
  /** Cuts what is written down into what the search of knowledge looks at. */
  knowledge: Pick<KnowledgeKeeper, 'kick' | 'embedQuestion'>;
  /** Folders of issues. */
  workspaces: WorkspaceSources;
  /** Of this process, as `claimed_by` names it. */
  claimed_by: string;
  started_at: Date;
}

/** What timers need: they claim no runs and handle no jobs. */
export type TimerContext = Omit<SchedulerContext, 'queue' | 'pool' | 'tools'>;

/** Work that happens because time passes. */
export interface TimerRow {
  name: string;
  interval_sec: number;
  /** With it, the work says how long it may rest, and rests this long at most. */
  rest_sec?: number;
  work: (context: TimerContext, signal: AbortSignal) => Promise<number | void>;
}
