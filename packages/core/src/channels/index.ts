/**
 * Owns `channels`, `channel_threads`, `channel_inbox`, `channel_outbox`, `channel_drafts`, `channel_pairing_codes` and `channel_strangers`: a
 * company's bots in Slack and Telegram. Invariants: incoming messages are stored before they are acknowledged, and handled once;
 * a speaker must be paired with this very channel, active, and currently in the company; anyone else is answered at most once;
 * a channel is held by one scheduler at a time, and every write of its holder checks the fence.
 */
export {
  createChannel,
  deleteChannel,
  findChannel,
  listChannels,
  setChannelKnowledge,
  updateChannel,
} from './channels.ts';
export { growingReplies, readGrowth, recordDraft } from './drafts.ts';
export type { GrowingReply, Growth, GrowthPosition } from './drafts.ts';
export { fanOutToChannels } from './fan-out.ts';
export { listBrokenChannels, readChannelFigures } from './figures.ts';
export { piecesOf } from './format.ts';
export type { Piece } from './format.ts';
export { claimChannels, releaseChannel, renewChannels } from './holder.ts';
export type { ChannelHold, ChannelState } from './holder.ts';
export { nextIncoming, postponeIncoming, storeIncoming } from './inbox.ts';
export type { StoredIncoming } from './inbox.ts';
export {
  setMyNotifications,
  listChannelPeople,
  createPairingCode,
  endPairingCodes,
  myChannels,
  removeChannelPerson,
  testChannel,
  unpair,
} from './people.ts';
export { presentChannel } from './present.ts';
export type { ChannelRow } from './present.ts';
export { buttonValue } from './press.ts';
export { mayBringFiles, receive } from './receive.ts';
export type { Received } from './receive.ts';
export { deleteOldChannelTraffic } from './retention.ts';
export { dueOutgoing, nextOutgoingIn, recordOutcome, recordPiece } from './sending.ts';
export type { DueOutgoing } from './sending.ts';
