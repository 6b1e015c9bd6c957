// A chat: replies that are followed while they are written, a thread that stays current, sending without leaving the page.
// Without script the same forms are plain posts.
import { ChosenFiles } from './chat-files.js';
import { askServer } from './connection.js';
import { copyText } from './copying.js';
import { keepDraft } from './drafts.js';
import { busy } from './feedback.js';
import { overLimits } from './file-list.js';
import { hasTyping, parsed, request } from './live-parts.js';
import { LiveText } from './live-text.js';
import { t } from './texts.js';
import { asksToStay } from './uploads.js';

export function startChat() {
  const chat = document.querySelector('[data-chat]');
  if (chat) new Chat(chat).start();
  else document.addEventListener('keydown', focusSearch);
}

class Chat {
  #id;
  #element;
  #thread;
  #composer;
  #files = null;
  #replies = new Map();
  #refreshing = null;
  #again = false;
  #failures = 0;
  #repeat;

  constructor(element) {
    this.#element = element;
    this.#id = element.dataset.chat;
    this.#thread = element.querySelector('[data-thread]');
    this.#composer = element.querySelector('[data-composer]');
  }

  start() {
    const element = this.#element;
    if (this.#composer) this.#files = new ChosenFiles(this.#composer, element);
    element.addEventListener('submit', (event) => this.#submit(event));
    element.addEventListener('click', (event) => copyCode(event));
    element.addEventListener('keydown', (event) => this.#key(event));
    document.addEventListener('keydown', (event) => {
      // One that closes something stops nothing.
      if (event.key === 'Escape' && !event.defaultPrevented) this.#stop();
    });
    document.addEventListener('live', ({ detail }) => {
      if (detail.topics.includes(`chat:${this.#id}`)) void this.refresh();
    });
    for (const name of ['live-open', 'live-reset'])
      document.addEventListener(name, () => void this.refresh());
    this.#settle();
    scrollToEnd();
    // If someone has begun to type elsewhere while the script was loading, the focus stays there.
    const { activeElement } = document;
    const idle = activeElement === null || activeElement === document.body;
    if (this.#composer && idle && matchMedia('(hover: hover)').matches)
      this.#field.focus({ preventScroll: true });
  }

  get #field() {
    return this.#composer.elements.body_markdown;
  }

  // One request at a time; calls in the meantime share one more.
  async refresh() {
    this.#again = true;
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = null));
    return this.#refreshing;
  }

  async #refresh() {
    while (this.#again) {
      this.#again = false;
      const { ok, mayPass, wait_ms, text } = await request(`/chats/${this.#id}/thread${location.search}`);
      clearTimeout(this.#repeat);
      // No other event may tell of what could not be had.
      if (!ok) return mayPass && this.#repeatIn(wait_ms);
      this.#failures = 0;
      const atEnd = isAtEnd();
      this.#merge([...parsed(text).content.children]);
      this.#settle();
      if (atEnd) scrollToEnd();
    }
  }

  #repeatIn(least) {
    const wait = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LATER_REPEATS_MS);
    this.#repeat = setTimeout(() => void this.refresh(), Math.max(least, wait));
  }

  /** Keeps unchanged items: nothing flickers, and anything unfolded or being edited is left alone. */
  #merge(items) {
    const known = new Map([...this.#thread.children].map((item) => [item.dataset.key, item]));
    let place = this.#thread.firstElementChild;
    // A quick reply may be complete before it was ever seen in progress: any new one counts.
    const isReply = ({ dataset: { key, role, follow } }) =>
      role === 'assistant' && follow === undefined && !known.has(key);
    if (items.some(isReply)) void this.#name();
    for (const item of items) {
      const old = known.get(item.dataset.key);
      known.delete(item.dataset.key);
      const keep =
        old &&
        (old.dataset.version === item.dataset.version ||
          old.contains(document.activeElement) ||
          hasTyping(old));
      const next = keep ? old : item;
      if (old && !keep) {
        if (place === old) place = old.nextElementSibling;
        old.replaceWith(item);
      }
      if (next === place) place = place.nextElementSibling;
      else this.#thread.insertBefore(next, place);
    }
    for (const gone of known.values()) gone.remove();
    this.#element.querySelector('[data-empty]')?.toggleAttribute('hidden', items.length > 0);
  }

  #settle() {
    for (const item of this.#thread.querySelectorAll('[data-follow]')) {
      if (this.#replies.has(item)) continue;
      this.#replies.set(item, new Reply(item, () => void this.refresh()));
    }
    for (const [item, reply] of this.#replies) {
      if (item.isConnected) continue;
      reply.close();
      this.#replies.delete(item);
    }
    for (const block of this.#thread.querySelectorAll('.markdown pre')) addCopy(block);
  }

  /** The first exchange names the chat. */
  async #name() {
    const response = await fetch(`/api/chats/${this.#id}`).catch(() => null);
    const { title } = response?.ok ? await response.json() : { title: null };
    if (title === null) return;
    for (const place of document.querySelectorAll('h1, .chat-list [aria-current] .chat-title'))
      place.textContent = title;
  }

  async #submit(event) {
    const form = event.target;
    const path = form.dataset.api ?? (form.closest('[data-stop]') ? `/api/chats/${this.#id}/stop` : null);
    if (path === null || event.defaultPrevented) return;
    event.preventDefault();
    if (form === this.#composer) return this.#send(path);
    const button = event.submitter ?? form.querySelector('button');
    if (button.disabled) return;
    const values = Object.fromEntries(new FormData(form));
    const rest = busy(button);
    if (await this.#post(path, values)) {
      // What is typed into would be kept.
      form.reset();
      document.activeElement?.blur();
      await this.refresh();
    }
    rest();
  }

  async #send(path) {
    const field = this.#field;
    const text = field.value;
    const files = this.#files.all;
    if (text.trim() === '' && files.length === 0) return;
    const over = overLimits(this.#composer.elements.file, files);
    if (over) return this.#tell(over);
    const body = files.length === 0 ? { body_markdown: text } : new FormData(this.#composer);
    field.value = '';
    this.#files.set([]);
    grow(field);
    this.#composer.toggleAttribute('data-sending', files.length > 0);
    const post = this.#post(path, body);
    const sent = await (files.length > 0 ? asksToStay(post) : post);
    this.#composer.removeAttribute('data-sending');
    if (!sent) {
      // Keeps everything that was typed or chosen, including what was typed since.
      field.value = field.value === '' ? text : `${text}\n\n${field.value}`;
      grow(field);
      keepDraft(field);
      this.#files.set([...files, ...this.#files.all]);
      return;
    }
    keepDraft(field);
    // It is not on the page of former messages.
    if (location.search !== '') return location.assign(location.pathname);
    await this.refresh();
    scrollToEnd();
  }

  /** @param values a form is sent as it is, with its files */
  async #post(path, values) {
    this.#tell('');
    const form = values instanceof FormData;
    const response = await askServer(path, {
      method: 'POST',
      headers: { accept: 'application/json', ...(form ? {} : { 'content-type': 'application/json' }) },
      body: form ? values : JSON.stringify(values),
    }).catch(() => null);
    if (response?.ok) return true;
    // The bar says that nobody is signed in any more.
    if (response?.status === 401) return false;
    const { error = t`it could not be sent: try again` } = (await response?.json().catch(() => null)) ?? {};
    this.#tell(error);
    return false;
  }

  #tell(text) {
    const place = this.#element.querySelector('[data-error]');
    if (!place) return;
    place.textContent = text;
    place.hidden = text === '';
  }

  #stop() {
    if (this.#replies.size > 0) void this.#post(`/api/chats/${this.#id}/stop`, {}).then(() => this.refresh());
  }

  #key(event) {
    const { target, key, shiftKey, isComposing } = event;
    if (target !== this.#composer?.elements.body_markdown) return;
    if (key === 'Enter' && !shiftKey && !isComposing) {
      event.preventDefault();
      this.#composer.requestSubmit();
    } else if (key === 'ArrowUp' && target.value === '') {
      const edits = [...this.#thread.querySelectorAll('.edit-said')];
      const last = edits.at(-1);
      if (!last) return;
      event.preventDefault();
      last.open = true;
      last.querySelector('textarea').focus();
    }
  }
}

const FIRST_RETRY_MS = 1000;
const MOST_RETRIES = 8;
const LATER_REPEATS_MS = 30_000;

/**
 * The reply in progress, from its stream. The browser reconnects an interrupted stream by itself, but not if a proxy answers
 * for an unavailable service: then the stream is read again from its beginning.
 */
class Reply {
  #source;
  #text;
  #doing;
  #ended;
  #retries = 0;
  #waiting;

  constructor(item, ended) {
    this.#text = new LiveText(item.querySelector('[data-words]'), (change) => {
      const atEnd = isAtEnd();
      change();
      if (atEnd) scrollToEnd();
    });
    this.#doing = item.querySelector('[data-doing]');
    this.#ended = ended;
    this.#follow(item.dataset.follow);
  }

  #follow(path) {
    this.#source = new EventSource(path);
    const on = (name, act) => this.#source.addEventListener(name, (event) => act(event));
    on('delta', ({ data }) => {
      this.#retries = 0;
      this.#text.add(JSON.parse(data).text);
    });
    on('reset', () => this.#clear());
    on('action', ({ data }) => this.#act(JSON.parse(data)));
    on('done', () => this.#end());
    // An event of the stream has data; a lost connection has none and is retried.
    on('error', ({ data, target }) => {
      if (data !== undefined) return this.#end();
      if (target.readyState !== EventSource.CLOSED || this.#retries === MOST_RETRIES) return;
      this.#waiting = setTimeout(
        () => {
          this.#clear();
          this.#follow(path);
        },
        FIRST_RETRY_MS * 2 ** this.#retries++,
      );
    });
  }

  #clear() {
    this.#text.clear();
    this.#doing.replaceChildren();
  }

  #act({ line, ok, error }) {
    const item = document.createElement('li');
    item.dataset.ok = String(ok);
    const code = document.createElement('code');
    code.textContent = line;
    item.append(code, ok ? '' : ` ${error ?? ''}`);
    this.#doing.append(item);
  }

  #end() {
    this.close();
    this.#ended();
  }

  close() {
    clearTimeout(this.#waiting);
    this.#source.close();
    this.#text.close();
  }
}

// In chats the button also shows without a pointer; the one that other pages add on hover (`data-copy`) is removed.
function addCopy(block) {
  if (block.querySelector('.copy')) return;
  block.querySelector('[data-copy]')?.remove();
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy small quiet';
  button.dataset.copy = '';
  button.textContent = t`Copy`;
  block.append(button);
}

function copyCode({ target }) {
  if (!target.matches?.('.copy')) return;
  const code = target.closest('pre').querySelector('code') ?? target.closest('pre');
  void copyText(code.textContent, target);
}

function focusSearch(event) {
  const field = document.querySelector('.chat-list') && document.querySelector('[role=search] input');
  if (!field || event.key !== '/' || document.activeElement.matches('input, textarea, select')) return;
  event.preventDefault();
  field.focus();
}

document.addEventListener('input', ({ target }) => {
  if (target.closest?.('[data-composer]')) grow(target);
});
// Grows with the text; the style sheet limits the height.
function grow(field) {
  field.rows = Math.min(10, Math.max(2, field.value.split('\n').length));
}

const page = () => document.scrollingElement;
const isAtEnd = () => page().scrollHeight - page().scrollTop - page().clientHeight < 120;
const scrollToEnd = () => page().scrollTo({ top: page().scrollHeight });
