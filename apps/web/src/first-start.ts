/** Checks that environment and database agree before anything is served, and lets the first person in. */
import {
  admitEncryptionKey,
  admitEnvironmentLicense,
  bootstrapAdmin,
  hashPassword,
  isCommonPassword,
  issueSetupToken,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { type Config, type Logger, Vault } from '@acp/kernel';
import { InstanceState } from './http/instance-state.ts';

/** @throws Error with the remedy if the environment's key is not the database's (decisions 7.29) */
export async function admitKey(database: Database, config: Config): Promise<void> {
  const vault = new Vault(config.encryption_key, config.encryption_key_previous);
  await transaction(database, async (tx) => admitEncryptionKey(tx, vault));
}

/**
 * Decisions 1: the bootstrap admin of the environment, else a one-time `/setup` link. Creates the bootstrap admin if there
 * is no user. Returns the setup link if there still is none, else null.
 */
export async function prepareFirstSignIn(
  database: Database,
  config: Config,
  logger: Logger,
): Promise<string | null> {
  const { bootstrap_admin_email: email, bootstrap_admin_password: password } = config;
  if (email !== null && password !== null) {
    const password_hash = await hashPassword(password);
    const user = await transaction(database, (tx) =>
      bootstrapAdmin(tx, { email, display_name: email, password_hash }),
    );
    if (user && (await isCommonPassword(password)))
      logger.warn('the first instance admin has a very common password; change it', { email });
    if (user) logger.info('created the first instance admin', { email });
    return null;
  }
  const token = await transaction(database, issueSetupToken);
  return token === null ? null : `${config.public_url}/setup?token=${token}`;
}

/** The current flags and license, kept up to date. */
export async function openInstanceState(
  sources: ConstructorParameters<typeof InstanceState>[0] & { config: Config },
): Promise<InstanceState> {
  await admitEnvironmentLicense(sources.database, sources.config, sources.logger);
  const instance = new InstanceState(sources);
  await instance.refresh();
  return instance;
}
