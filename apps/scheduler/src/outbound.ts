/** What this process does for companies on its own: sends webhooks, manages peers, keeps knowledge up to date. */
import type { Pricing } from '@acp/contract';
import type { Database, Listener } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import type { Storage } from '@acp/storage';
import { ChannelHost } from './channels/channel-host.ts';
import { watchLists } from './egress/known-lists.ts';
import { PeerLink } from './federation/peer-link.ts';
import { KnowledgeKeeper } from './knowledge/knowledge-keeper.ts';
import { MessageSender } from './messages/message-sender.ts';
import { WebhookSender } from './webhooks/webhook-sender.ts';

interface OutboundParts {
  database: Database;
  listener: Listener;
  logger: Logger;
  vault: Vault;
  config: Config;
  storage: Storage;
  /** This process's name as a lease owner. */
  name: string;
  pricing: Pricing;
}

export function openOutbound(parts: OutboundParts) {
  const stopWatchingLists = watchLists(parts.database, parts.listener);
  const webhooks = new WebhookSender(parts);
  const peers = new PeerLink(parts);
  const knowledge = new KnowledgeKeeper(parts);
  const messages = new MessageSender(parts);
  const channels = new ChannelHost(parts);
  return {
    webhooks,
    peers,
    knowledge,
    messages,
    channels,
    async stop(): Promise<void> {
      stopWatchingLists();
      await Promise.all([webhooks.stop(), peers.stop(), knowledge.stop(), messages.stop(), channels.stop()]);
    },
  };
}
