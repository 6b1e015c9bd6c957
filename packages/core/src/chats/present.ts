import {
  type Chat,
  type ChatChannel,
  type ChatFile,
  type ChatMessage,
  type ChatMessageStatus,
  chatChannels,
} from '@acp/contract';
import { schema } from '@acp/db';
import { cutText } from '@acp/kernel';
import type { Change } from '../activity/index.ts';
import { shownColumns } from '../trash/index.ts';

export type ChatRow = typeof schema.chats.$inferSelect;
/** As clients see it: no agent while that is in the trash. */
export type ShownChat = Omit<ChatRow, 'agent_id'> & { agent_id: string | null };
export const shownChat = shownColumns(schema.chats);
export type ChatMessageRow = typeof schema.chat_messages.$inferSelect;

// Events contain up to 2 KB of text (decisions 4).
const EVENT_TEXT_BYTES = 2048;

export function presentChat(chat: ShownChat): Chat {
  return {
    id: chat.id,
    company_id: chat.company_id,
    agent_id: chat.agent_id,
    title: chat.title,
    channel: channelOf(chat.channel),
    created_by_user_id: chat.created_by_user_id,
    created_by_agent_id: chat.created_by_agent_id,
    created_at: chat.created_at,
    updated_at: chat.updated_at,
  };
}

function channelOf(channel: string): ChatChannel {
  const known = chatChannels.find((each) => each === channel);
  if (known === undefined) throw new Error(`a chat has an unknown channel ${channel}`);
  return known;
}

export function presentMessage(row: ChatMessageRow): ChatMessage {
  return {
    id: row.id,
    chat_id: row.chat_id,
    role: row.role === 'assistant' ? 'assistant' : 'user',
    body_markdown: row.body_markdown,
    attachments: presentFiles(row),
    author_user_id: row.author_user_id,
    author_agent_id: row.author_agent_id,
    author_name: row.author_name,
    status: row.status as ChatMessageStatus,
    error: row.error,
    run_id: row.run_id,
    created_at: row.created_at,
  };
}

function presentFiles(row: Pick<ChatMessageRow, 'chat_id' | 'attachments'>): ChatFile[] {
  return row.attachments.map(({ id, filename, content_type, size_bytes }) => ({
    id,
    filename,
    content_type,
    size_bytes,
    download_path: `/api/chats/${row.chat_id}/attachments/${id}/download`,
  }));
}

/** Published to those who may see the chat; no message text gets into the company's activity. */
export function messageChange(chat: Pick<ChatRow, 'created_by_user_id'>, row: ChatMessageRow): Change {
  const shown = presentMessage(row);
  return {
    company_id: row.company_id,
    entity_type: 'chat_message',
    entity_id: row.id,
    event: {
      type: 'chat_message',
      data: {
        ...shown,
        body_markdown: cutText(shown.body_markdown, EVENT_TEXT_BYTES),
        private_to_user_id: chat.created_by_user_id,
      },
    },
  };
}

export function chatChange(chat: Pick<ShownChat, 'id' | 'company_id' | 'agent_id'>, action: string): Change {
  const { company_id, id: entity_id, agent_id } = chat;
  return { company_id, action, entity_type: 'chat', entity_id, details: { agent_id } };
}
