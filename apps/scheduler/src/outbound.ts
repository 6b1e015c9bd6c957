/** What this process sends by itself to places that companies name: webhooks, and what is due with peers. */
import type { Database, Listener } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import { PeerLink } from './federation/peer-link.ts';
import { WebhookSender } from './webhooks/webhook-sender.ts';

interface OutboundParts {
  database: Database;
  listener: Listener;
  logger: Logger;
  vault: Vault;
  config: Config;
}

export function openOutbound(parts: OutboundParts) {
  const webhooks = new WebhookSender(parts);
  const peers = new PeerLink(parts);
  return {
    webhooks,
    peers,
    async stop(): Promise<void> {
      await Promise.all([webhooks.stop(), peers.stop()]);
    },
  };
}
