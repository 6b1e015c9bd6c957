import type { Vault } from '@acp/kernel';

/** Everything needed to compose mails to people. */
export interface Mailing {
  vault: Vault;
  /** Whether a mail server is configured. */
  mail: boolean;
  /** Base URL of links: set by the operator, never taken from a request. */
  public_url: string;
}

/** Texts with links are sealed until they are sent, which also requires an encryption key. */
export const mailsLinks = ({ mail, vault }: Mailing): boolean => mail && vault.available;
