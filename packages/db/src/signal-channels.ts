/**
 * What other processes can be told (NOTIFY `service_<channel>`), with ids only, never with content:
 * `events` the outbox has rows (item ''), `jobs` a queue's name, `transcripts` JSON, `credentials` a key's id,
 * `commands` a command's id, `control` a run's id, `alerts` the company of a new notification ('' for none), `tools`
 * the company whose outside tools have changed, `plugins` a plugin's id, `channels` one that has something to say, `instance` that flags or the license changed,
 * `egress` the company whose list of hosts has changed, `tasks` that a task waits for remote workers, `due` that something changed without an event and may be due (items '').
 */
export const signalChannels = [
  'events',
  'jobs',
  'transcripts',
  'credentials',
  'commands',
  'control',
  'alerts',
  'tools',
  'plugins',
  'channels',
  'instance',
  'tasks',
  'due',
  'egress',
] as const;
export type SignalChannel = (typeof signalChannels)[number];

/** The item that stands for all others when there were too many of them: "read everything again". */
export const WILDCARD = '*';

export type Signals = Map<SignalChannel, Set<string>>;
