/** What handlers need beside the transaction: the operator's rules, the vault, and commands that a scheduler answers. */
import type { Actor } from '@acp/contract';
import type { HomeRules } from '@acp/core';
import { type Database, type Listener, transaction, type Tx } from '@acp/db';
import { type Config, unavailable, Vault } from '@acp/kernel';
import { callCommand } from '@acp/queue';

export interface Services {
  readonly vault: Vault;
  /** Where homes of agents and companies may lie (decisions 7.32). */
  readonly homes: HomeRules;
  readonly public_url: string;
  /**
   * Has a scheduler do it and waits, 30 s at most (decisions 6). Only in rows without a transaction.
   * @throws what the handler threw, or unavailable when nobody answered in time
   */
  command(name: string, payload: unknown, caller: { actor: Actor; company_id: string }): Promise<unknown>;
  /** A transaction of its own, for the rare row that has work outside of one (slow hashes, bytes, awaited commands). */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

export interface ServiceSources {
  database: Database;
  config: Pick<Config, 'public_url'> &
    Partial<Pick<Config, 'encryption_key' | 'encryption_key_previous' | 'home' | 'home_roots'>>;
  /** Absent in tests that await no command. */
  listener?: Listener | undefined;
}

export function createServices({ database, config, listener }: ServiceSources): Services {
  return {
    vault: new Vault(config.encryption_key ?? null, config.encryption_key_previous ?? []),
    homes: { service_home: config.home ?? '', assigned: config.home_roots ?? {} },
    public_url: config.public_url,
    async command(name, payload, { actor, company_id }) {
      if (!listener) throw unavailable('no scheduler answered in time');
      return callCommand(database, listener, name, payload, { actor, company_id: company_id || null });
    },
    transaction: (work) => transaction(database, work),
  };
}
