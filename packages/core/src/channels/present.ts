import type {
  Channel,
  ChannelKind,
  ChannelKnowledge,
  ChannelNews,
  ChannelPerson,
  ChannelStatus,
} from '@acp/contract';
import { schema } from '@acp/db';
import type { Change } from '../activity/index.ts';
import { shownColumns } from '../trash/index.ts';

export type ChannelRow = typeof schema.channels.$inferSelect;
/** Without a default agent that is in the trash. */
export const channelColumns = shownColumns(schema.channels);
export type PairingRow = typeof schema.chat_pairings.$inferSelect;

export function presentChannel(row: ChannelRow): Channel {
  return {
    id: row.id,
    company_id: row.company_id,
    name: row.name,
    kind: row.kind as ChannelKind,
    bot_token: row.bot_token,
    app_token: row.app_token,
    default_agent_id: row.default_agent_id,
    groups: row.groups,
    refused_groups: row.refused_groups,
    knowledge: row.knowledge as ChannelKnowledge[],
    enabled: row.enabled,
    status: row.status as ChannelStatus,
    last_error: row.last_error,
    failing_since: row.failing_since,
    bot_name: row.bot_name,
    last_seen_at: row.last_seen_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

export function presentPairing(row: PairingRow): Omit<ChannelPerson, 'channel_id' | 'user_id' | 'user_name'> {
  const { id, external_id, external_name, created_at } = row;
  return { id, external_id, external_name, notify: row.notify as ChannelNews[], created_at };
}

export function changeOfChannel(
  { id, company_id, name, kind }: Pick<ChannelRow, 'id' | 'company_id' | 'name' | 'kind'>,
  action: string,
  details: Record<string, unknown> = {},
): Change {
  return { company_id, action, entity_type: 'channel', entity_id: id, details: { name, kind, ...details } };
}
