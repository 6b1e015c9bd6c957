/**
 * Channels for notifying other processes (NOTIFY `service_<channel>`). Items are ids, never content:
 * `events`: the outbox has rows (item ''); `jobs`: a queue's name; `transcripts`: JSON; `credentials`: a key's id;
 * `departures`: a key that ended because its creator lost the right to it, and with it its open streams;
 * `commands`: a command's id; `control`: a run's id; `alerts`: the company of a new notification ('' for none);
 * `tools`: the company whose external tools have changed; `plugins`: a plugin's id; `channels`: a channel with something
 * to send; `instance`: flags or the license changed; `egress`: the company whose host list has changed; `tasks`: a task is
 * waiting for remote workers; `due`: something changed without an event and may be due (items '').
 */
export const signalChannels = [
  'events',
  'jobs',
  'transcripts',
  'credentials',
  'departures',
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

/** Replaces all items when there are too many: "read everything again". */
export const WILDCARD = '*';

export type Signals = Map<SignalChannel, Set<string>>;
