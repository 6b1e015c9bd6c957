/** Who is notified of an event in a channel, and where. */
import type { SequencedEvent } from '../events/index.ts';

/** A person who may be notified, with the kinds of notifications chosen. */
export interface Recipient extends Record<string, unknown> {
  channel_id: string;
  company_id: string;
  user_id: string;
  external_id: string;
  role: string;
  notify: string[];
}

/** An event whose type, and so the type of its data, is known. */
export type EventOf<T> = Pick<SequencedEvent, 'id' | 'company_id' | 'occurred_at'> & { data: T };

/** The ID of a private conversation with a bot is the person's ID, in both Slack and Telegram. */
export const inPrivate = ({ channel_id, user_id, external_id }: Recipient) => ({
  channel_id,
  user_id,
  conversation: external_id,
});
