import type { Vault } from '@acp/kernel';

/** What mails to people are made with. */
export interface Mailing {
  vault: Vault;
  /** A mail server is set up. */
  mail: boolean;
  /** Where links lead: the operator's word, never a request's. */
  public_url: string;
}

/** Texts with links are sealed until they are sent: that needs an encryption key too. */
export const mailsLinks = ({ mail, vault }: Mailing): boolean => mail && vault.available;
