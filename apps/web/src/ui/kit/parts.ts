/** The small building blocks of pages. */
import { assetPath } from './assets.ts';
import { LIST } from './form-fields.ts';
import { words } from './format.ts';
import { attributes, each, html, type Html, when } from './html.ts';
import { say, t } from './language.ts';

/** A status as a coloured word; the style sheet chooses the colour. */
export function status(value: string): Html {
  return html`<span class="status" data-status="${value}">${words(value)}</span>`;
}

export function priority(value: string): Html {
  return html`<span class="priority" data-priority="${value}" title="priority: ${words(value)}"
    >${words(value)}</span
  >`;
}

/** Initials in a disc, for the eye only: they are no text, so that they belong to no name that is read out. */
export function avatar(name: string): Html {
  const initials = name.trim().split(/\s+/).slice(0, 2).map(firstLetter).join('').toUpperCase();
  return html`<span
    class="avatar"
    data-tone="${tone(name)}"
    data-initials="${initials}"
    title="${name}"
    aria-hidden="true"
  ></span>`;
}

const letters = new Intl.Segmenter();

/** What a reader takes for one letter, even if it consists of several characters: an emoji, a letter with its marks. */
function firstLetter(word: string): string {
  for (const { segment } of letters.segment(word.slice(0, 50))) return segment;
  return '';
}

/** One of eight tones, derived from the name. */
function tone(name: string): number {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)!) % 4096;
  return sum % 8;
}

/** Says that there is nothing here yet, and what to do about it. */
export function emptyState(title: string, hint: Html): Html {
  return html`<div class="empty">
    <p class="empty-title">${say(title)}</p>
    <p>!${hint}</p>
  </div>`;
}

export interface Choice {
  value: string;
  label: string;
}

export interface FieldOptions {
  name: string;
  /** Set if two forms on a page have a field of the same name. */
  id?: string;
  label: string;
  value?: string | number | null;
  type?: 'text' | 'email' | 'password' | 'number' | 'url' | 'search';
  hint?: string;
  error?: string | null;
  required?: boolean;
  autocomplete?: string;
  minlength?: number;
  min?: number;
  autofocus?: boolean;
  /** The keyboard that a phone shows, if not that of the type. */
  inputmode?: 'numeric';
  /** Id of a `datalist` with values to choose from. */
  list?: string;
  placeholder?: string;
  /** Where the names that can be typed are asked for (choice.ts). */
  source?: string;
  /** Scripts keep nothing of it in the browser. A password field needs no mark. */
  secret?: boolean;
  /** For a list, separated by commas or one per line: what ends an item's key, or '' (form-fields.ts). */
  items?: '' | '=' | ':';
}

/** A labelled input with its hint and error. */
export function input(options: FieldOptions): Html {
  const {
    name,
    type = 'text',
    value,
    required,
    autocomplete,
    minlength,
    min,
    autofocus,
    inputmode,
    list,
    placeholder,
    source,
  } = options;
  const rest = attributes({
    value,
    required,
    autocomplete: autocomplete ?? 'off',
    minlength,
    min,
    autofocus,
    inputmode,
    list,
    placeholder,
    'data-choices': source,
    'data-secret': options.secret,
    [LIST]: options.items,
  });
  return labelled(
    options,
    html`<input
      id="f-${options.id ?? name}"
      name="${name}"
      type="${type}"
      !${rest}!${describedBy(options)}
    />`,
  );
}

export function textarea(options: FieldOptions & { rows?: number; mono?: boolean }): Html {
  const { name, value, rows = 5, mono, required, placeholder } = options;
  const rest = attributes({
    rows,
    required,
    placeholder,
    class: mono ? 'mono' : null,
    'data-secret': options.secret,
    [LIST]: options.items,
  });
  const text = String(value ?? '');
  return labelled(
    options,
    html`<textarea id="f-${options.id ?? name}" name="${name}" !${rest}!${describedBy(options)}>
${text}</textarea>`,
  );
}

/** A value that is not among the choices (trashed since, or beyond the list) is kept: submitting changes nothing. */
export function select(options: FieldOptions & { choices: readonly Choice[] }): Html {
  const { name, value, choices, required, autofocus } = options;
  const chosen = String(value ?? '');
  const known = chosen === '' || choices.some((choice) => choice.value === chosen);
  const items = each(
    known ? choices : [{ value: chosen, label: t`as it is now` }, ...choices],
    (choice) =>
      html`<option value="${choice.value}" !${attributes({ selected: choice.value === chosen })}>
        ${choice.label}
      </option>`,
  );
  const rest = attributes({ required, autofocus });
  return labelled(
    options,
    html`<select id="f-${options.id ?? name}" name="${name}" !${rest}!${describedBy(options)}>
      !${items}
    </select>`,
  );
}

/** The hidden twin distinguishes an unticked box from a form without one. */
export function checkbox({ name, label, checked }: { name: string; label: string; checked: boolean }): Html {
  return html`<label class="check"
    ><input type="hidden" name="${name}" value="" /><input
      type="checkbox"
      name="${name}"
      value="on"
      !${attributes({ checked })}
    />
    <span>${say(label)}</span></label
  >`;
}

function labelled({ name, id = name, label, hint, error }: FieldOptions, control: Html): Html {
  return html`<div class="field!${error ? ' has-error' : ''}">
    <label for="f-${id}">${say(label)}</label>
    !${control}!${when(hint, (text) => html`<p class="hint" id="h-${id}">${say(text)}</p>`)}!${when(
      error,
      (text) => html`<p class="error" id="e-${id}" role="alert">${text}</p>`,
    )}
  </div>`;
}

function describedBy({ name, id = name, hint, error }: FieldOptions): Html {
  const ids = [error ? `e-${id}` : '', hint ? `h-${id}` : ''].filter((part) => part !== '');
  return attributes({ 'aria-describedby': ids.join(' ') || null, 'aria-invalid': error ? 'true' : null });
}

/** An error that belongs to no single field. */
export function formError(message: string | null): Html {
  return when(message, (text) => html`<p class="error form-error" role="alert">${say(text)}</p>`);
}

/** Confirms that something was done. */
export function notice(text: string | null | undefined): Html {
  return when(text, (said) => html`<p class="notice good" role="status">${say(said)}</p>`);
}

/**
 * Confirms that something was done, on top of the page and only for a while, with an undo if there is one.
 * @param address of the page itself, if a form responded with it: so that reloading does not resubmit the form
 */
export function toast(text: string, { undo, address }: { undo?: Html; address?: string } = {}): Html {
  return html`<div class="toast" data-toast !${attributes({ 'data-address': address })}>
    <span>${say(text)}</span>
    !${undo ?? ''}
    <button type="button" class="link small" data-close-toast>Close</button>
  </div>`;
}

/** Leads from the head of a long list to the form below it, and into its first field. */
export function formLink(label: string, field: string): Html {
  return html`<a class="button" href="#f-${field}">${label}</a>`;
}

/** A value that is never shown again, ready to be copied. */
export function shownOnce(label: string, value: string): Html {
  return html`<div class="notice once">
    <p role="status">${say(label)}</p>
    <code>${value}</code>
    <button type="button" class="quiet small" data-copy-once hidden>Copy</button>
    <script src="${assetPath('shown-once.js')}" type="module"></script>
  </div>`;
}

/** Pages that belong together, under one navigation entry. */
export function tabs(label: string, items: readonly { label: string; path: string }[], active: string): Html {
  return html`<nav class="tabs" aria-label="${say(label)}" data-filtered>
    !${each(items, (item) => html`<a href="${item.path}" !${attributes({ 'aria-current': item.path === active ? 'page' : null })}>${say(item.label)}</a>`)}
  </nav>`;
}

/**
 * A button with a form of its own: every action works without script.
 * @param options.named what it is about, for those who do not see the row
 */
export function postButton(
  path: string,
  label: string,
  options: {
    class?: string;
    confirm?: string;
    fields?: Readonly<Record<string, string>>;
    named?: string;
  } = {},
): Html {
  const fields = each(
    Object.entries(options.fields ?? {}),
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  const confirm = attributes({ 'data-confirm': options.confirm && say(options.confirm) });
  const name = attributes({ 'aria-label': options.named && `${say(label)}: ${options.named}` });
  return html`<form method="post" action="${path}" class="inline" !${confirm}>
    !${fields}<button class="${options.class ?? 'quiet'}" !${name}>${say(label)}</button>
  </form>`;
}
