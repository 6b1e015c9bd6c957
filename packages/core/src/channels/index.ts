/**
 * Owns `channels`, `channel_threads`, `channel_inbox`, `channel_outbox`, `channel_pairing_codes` and `channel_strangers`: a
 * company's bots in Slack and Telegram. Invariants: what came is stored before it is acknowledged, and dealt with once; who
 * speaks is who is paired with this very channel, active, and in the company now; nobody else is answered more than once;
 * a channel is held by one scheduler at a time, and every write of its holder names the fence.
 */
export {
  createChannel,
  deleteChannel,
  findChannel,
  listChannels,
  setChannelKnowledge,
  updateChannel,
} from './channels.ts';
export {
  chooseNews,
  listChannelPeople,
  makePairingCode,
  myChannels,
  removeChannelPerson,
  testChannel,
  unpair,
} from './people.ts';
export { presentChannel } from './present.ts';
export type { ChannelRow } from './present.ts';
