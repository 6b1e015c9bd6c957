/** How the first person gets in: the bootstrap admin of the environment, else a one-time `/setup` link (decisions 1). */
import { bootstrapAdmin, hashPassword, issueSetupToken } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Config, Logger } from '@acp/kernel';

/** Creates the bootstrap admin where there is no user. Answers the set-up link while there still is none, else null. */
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
    if (user) logger.info('created the first instance admin', { email });
    return null;
  }
  const token = await transaction(database, issueSetupToken);
  return token === null ? null : `${config.public_url}/setup?token=${token}`;
}
