/**
 * Owns `chats` and `chat_messages`: conversations of people with agents. A person's chat is private to that person; one
 * created with a key is open to the company. Each reply is a run of the kind `chat_reply`, one at a time per chat: messages sent
 * in the meantime wait. Invariants: a message `answering` names its live run; a message `waiting` has a live run before it, or
 * is found by the sweep; a reply is one position after its message.
 */
export { CHAT_REPLY, sweepWaitingChats } from './answer-next.ts';
export { findChatFile } from './chat-files.ts';
export { chatFacts, summaryFacts } from './chat-facts.ts';
export type { ChatFacts, SaidMessage, SummaryFacts } from './chat-facts.ts';
export { chatReplyKind, chatSummaryKind } from './chat-kinds.ts';
export { createChat, deleteChat, updateChat } from './chats.ts';
export { postChatMessage, resendChatMessage, stopChat } from './post-message.ts';
export { presentChat, presentMessage } from './present.ts';
export type { ChatMessageRow, ChatRow, ShownChat } from './present.ts';
export {
  findChat,
  findChatMessage,
  listChatMessages,
  listChats,
  newestChatMessages,
  readReply,
} from './read-chats.ts';
export { workOfReplies } from './reply-work.ts';
export type { ReplyWork } from './reply-work.ts';
export { CHAT_SUMMARY } from './summary.ts';
