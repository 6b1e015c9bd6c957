// A browser's single connection for live events, however many tabs are open: over HTTP/1.1 it has six per host, and a
// stream in each tab would leave none for pages. Tabs report what they show; the worker sends them what they miss.
import { LiveStream } from './live-stream.js';

/** Maximum number of companies followed at the same time; the last viewed ones stay. */
const MAX_STREAMS = 3;
/** Events kept for tabs that open later or return. */
const MAX_KEPT = 1000;

/** By company and user, since whoever signs in next may not see the same; the last viewed one is at the end. */
const channels = new Map();
/** By port: the channel that the tab listens to, and the runs whose transcripts it shows. */
const tabs = new Map();

class Channel {
  #kept = [];
  /** The event before the first one kept. */
  #from;
  #stream;
  #isClosed = false;
  tabs = new Set();

  constructor(name, company, after) {
    this.name = name;
    this.#from = after;
    this.#stream = new LiveStream(company, after, (frame) => this.#take(frame));
  }

  /** Brings the tab up to date and subscribes it to everything that follows. */
  add(port, after) {
    this.tabs.add(port);
    if (after < this.#from) port.postMessage({ kind: 'reset', after: this.#from });
    else for (const frame of this.#kept) if (frame.seq > after) port.postMessage(frame);
    if (this.#stream.isOpen) port.postMessage({ kind: 'open' });
    else if (this.#isClosed) port.postMessage({ kind: 'closed' });
    this.#stream.hurry();
  }

  close() {
    this.#stream.close();
    for (const port of this.tabs) tabs.get(port).channel = null;
  }

  #take(frame) {
    if (frame.kind === 'open' || frame.kind === 'closed') this.#isClosed = frame.kind === 'closed';
    if (frame.kind === 'reset') {
      this.#kept = [];
      this.#from = frame.after;
    }
    if (frame.seq > 0) this.#keep(frame);
    for (const port of this.tabs) if (isFor(port, frame)) port.postMessage(frame);
  }

  #keep(frame) {
    this.#kept.push(frame);
    if (this.#kept.length > MAX_KEPT) this.#from = this.#kept.shift().seq;
  }
}

/** Transcripts are many: a tab gets only those that it shows. */
const isFor = (port, { type, data }) => type !== 'run_event' || tabs.get(port).runs.has(data.run_id);

function attach(port, { company, user, after, runs }) {
  const name = `${company} ${user}`;
  if (tabs.get(port)?.channel?.name !== name) leave(port);
  const channel = channels.get(name) ?? new Channel(name, company, after);
  channels.delete(name);
  channels.set(name, channel);
  tabs.set(port, { channel, runs: new Set(runs) });
  channel.add(port, after);
  if (channels.size > MAX_STREAMS) drop(channels.values().next().value);
}

function leave(port) {
  const channel = tabs.get(port)?.channel;
  tabs.delete(port);
  channel?.tabs.delete(port);
  if (channel?.tabs.size === 0) drop(channel);
}

function drop(channel) {
  channels.delete(channel.name);
  channel.close();
}

const acts = {
  attach,
  shows: (port, { runs }) => {
    const tab = tabs.get(port);
    if (tab) tab.runs = new Set(runs);
  },
  leave,
};

addEventListener('connect', ({ ports: [port] }) => {
  port.addEventListener('message', ({ data }) => acts[data.act](port, data));
  port.start();
});
