/**
 * The readable texts of a template. A template is cut into HTML, values and messages: the text between two boundaries,
 * with values as `{0}` and inline tags as `<0>…</0>`, so that a translation can place both where its language needs them.
 * The catalogue's command (scripts/messages) and the pages (language.ts) cut alike, so that what is extracted is what is shown.
 */

/** A value of the template by its index; raw ones are already HTML. */
export interface Value {
  value: number;
  raw: boolean;
}

export interface Message {
  message: string;
  /** Attributes cannot contain tags. */
  in_attribute: boolean;
  values: readonly Value[];
  /** Opening and closing part of each tag, by number. */
  tags: readonly { open: readonly Chunk[]; close: string }[];
}

export type Chunk = string | Value | Message;

interface Tag {
  name: string;
  kind: 'open' | 'close' | 'void';
  chunks: readonly Chunk[];
}

type Token = { text: string } | Value | Tag;

const INLINE = new Set(
  'a abbr b cite code em i kbd mark q s samp small span strong sub sup time var'.split(' '),
);
/** Names and commands: within a sentence translators can place them; on their own they are not translatable. */
const VERBATIM = new Set(['code', 'kbd', 'samp']);
const UNREAD = new Set(['script', 'style', 'pre', 'textarea']);
const SPOKEN_ATTRIBUTES = new Set([
  'title',
  'aria-label',
  'aria-description',
  'placeholder',
  'alt',
  'data-confirm',
]);
const LETTER = /\p{L}/u;

// Stand-ins for values while the template is one text; no template contains private-use characters.
const MARK = /\u{E000}(\d+)(!?)\u{E001}/u;
const MARKS = /(\u{E000}\d+!?\u{E001})/u;

const isMessage = (chunk: Chunk): chunk is Message => typeof chunk === 'object' && 'message' in chunk;
const isTag = (token: Token): token is Tag => 'kind' in token;

/** @param literals the raw ones, as the tag receives them: a trailing `!` makes the next value raw */
export function cutTemplate(literals: readonly string[]): Chunk[] {
  const whole = literals
    .map((literal, at) => {
      if (at === literals.length - 1) return literal;
      const raw = literal.endsWith('!');
      return `${raw ? literal.slice(0, -1) : literal}\u{E000}${at}${raw ? '!' : ''}\u{E001}`;
    })
    .join('');
  // Some templates are attributes only, for a tag in another one.
  return merged(/^\s*[\w-]+=/.test(whole) ? attributeChunks(whole, '') : chunksOf(tokens(whole)));
}

/** Everything in it that translators see. */
export function messagesOf(chunks: readonly Chunk[]): Message[] {
  return chunks
    .filter(isMessage)
    .flatMap((chunk) => [chunk, ...chunk.tags.flatMap(({ open }) => messagesOf(open))]);
}

/** Tags end at the first `>` outside of quotes; values in them are marks, which contain none. */
const PARTS = /<!--[\s\S]*?-->|<!doctype[^>]*>|<\/?[a-z](?:[^>"']|"[^"]*"|'[^']*')*>/gi;

function tokens(whole: string): Token[] {
  const found: Token[] = [];
  let from = 0;
  for (const match of whole.matchAll(PARTS)) {
    found.push(...textTokens(whole.slice(from, match.index)), tagToken(match[0]));
    from = match.index + match[0].length;
  }
  return [...found, ...textTokens(whole.slice(from))];
}

const textTokens = (text: string): Token[] =>
  text.split(MARKS).flatMap((part): Token[] => (part === '' ? [] : [valueOf(part) ?? { text: part }]));

function valueOf(part: string): Value | null {
  const [, at, raw] = MARK.exec(part) ?? [];
  return at === undefined ? null : { value: Number(at), raw: raw === '!' };
}

function tagToken(text: string): Tag {
  const name = /^<\/?([a-z][\w-]*)/i.exec(text)?.[1]?.toLowerCase() ?? '';
  const kind = text.startsWith('</') ? 'close' : text.endsWith('/>') ? 'void' : 'open';
  return { name, kind, chunks: attributeChunks(text, name) };
}

function attributeChunks(text: string, name: string): Chunk[] {
  const chunks: Chunk[] = [];
  let from = 0;
  for (const { 1: start = '', 2: attribute = '', 3: value = '', index } of text.matchAll(
    /(([\w-]+)=")([^"]*)"/g,
  )) {
    // A submit input shows its value.
    const spoken =
      SPOKEN_ATTRIBUTES.has(attribute) ||
      (attribute === 'value' && name === 'input' && text.includes('type="submit"'));
    if (!spoken) continue;
    chunks.push(...plainChunks(text.slice(from, index + start.length)), ...spokenChunks(value));
    from = index + start.length + value.length;
  }
  return [...chunks, ...plainChunks(text.slice(from))];
}

const plainChunks = (text: string): Chunk[] =>
  textTokens(text).map((token) => ('text' in token ? token.text : (token as Value)));

function spokenChunks(value: string): Chunk[] {
  const parts = textTokens(value);
  return parts.some((part) => 'text' in part && LETTER.test(part.text))
    ? [messageOf(parts, { in_attribute: true })]
    : plainChunks(value);
}

/** Cuts the tokens at the boundaries. */
function chunksOf(all: readonly Token[]): Chunk[] {
  const chunks: Chunk[] = [];
  let stretch: Token[] = [];
  let unread: string | null = null;
  for (const token of all) {
    const boundary = isTag(token) && !INLINE.has(token.name);
    if (unread === null && !boundary) {
      stretch.push(token);
      continue;
    }
    chunks.push(...stretchChunks(stretch), ...asItIs(token));
    stretch = [];
    if (!isTag(token)) continue;
    if (unread === token.name && token.kind === 'close') unread = null;
    else if (UNREAD.has(token.name) && token.kind === 'open') unread ??= token.name;
  }
  return [...chunks, ...stretchChunks(stretch)];
}

function asItIs(token: Token): readonly Chunk[] {
  if (isTag(token)) return token.chunks;
  return ['text' in token ? token.text : token];
}

/** One message if there is text besides the inline elements, else the contents of each of them. */
function stretchChunks(stretch: readonly Token[]): Chunk[] {
  const elements = elementsOf(stretch);
  const stray = elements.findIndex(isStray);
  if (stray >= 0)
    return [
      ...stretchChunks(elements.slice(0, stray).flat()),
      ...asItIs(elements[stray]![0]!),
      ...stretchChunks(elements.slice(stray + 1).flat()),
    ];
  const first = elements.findIndex(hasLetters);
  if (first < 0) return stretch.flatMap(asItIs);
  if (!elements.some((element) => element.length === 1 && hasLetters(element)))
    return elements.flatMap((element) =>
      hasLetters(element) ? elementChunks(element) : element.flatMap(asItIs),
    );
  // Icons and inserted HTML at either end are left out of the message.
  let [from, to] = [0, elements.length];
  while (from < first && isAside(elements[from]!)) from += 1;
  while (to > first + 1 && isAside(elements[to - 1]!)) to -= 1;
  return [
    ...elements.slice(0, from).flat().flatMap(asItIs),
    ...textChunks(elements.slice(from, to).flat()),
    ...elements.slice(to).flat().flatMap(asItIs),
  ];
}

/** A text, a value or an unpaired tag is an element of its own; an inline element includes its contents. */
function elementsOf(stretch: readonly Token[]): Token[][] {
  const elements: Token[][] = [];
  for (let at = 0; at < stretch.length; at += 1) {
    const end = endOf(stretch, at);
    elements.push(stretch.slice(at, end + 1));
    at = end;
  }
  return elements;
}

function endOf(stretch: readonly Token[], start: number): number {
  const first = stretch[start]!;
  if (!isTag(first) || first.kind !== 'open') return start;
  let depth = 0;
  for (let at = start; at < stretch.length; at += 1) {
    const token = stretch[at]!;
    if (!isTag(token) || token.name !== first.name) continue;
    depth += token.kind === 'open' ? 1 : token.kind === 'close' ? -1 : 0;
    if (depth === 0) return at;
  }
  return start;
}

const hasLetters = (element: readonly Token[]): boolean =>
  element.some((token) => 'text' in token && LETTER.test(token.text));

/** A tag whose counterpart is in another template. */
const isStray = ([token, ...more]: readonly Token[]): boolean =>
  token !== undefined && more.length === 0 && isTag(token) && token.kind !== 'void';

/** An icon, or HTML that was rendered elsewhere. */
const isAside = (element: readonly Token[]): boolean =>
  element.every(isTag) || (element.length === 1 && element.every((token) => 'raw' in token && token.raw));

function elementChunks(element: readonly Token[]): Chunk[] {
  const [open] = element;
  if (open === undefined || !isTag(open)) return textChunks(element);
  if (VERBATIM.has(open.name)) return element.flatMap(asItIs);
  return [...open.chunks, ...stretchChunks(element.slice(1, -1)), ...asItIs(element.at(-1)!)];
}

/** The surrounding white space stays with the template. */
const textChunks = (inner: readonly Token[]): Chunk[] => [
  leading(inner[0]),
  messageOf(inner, { in_attribute: false }),
  trailing(inner.at(-1)),
];

const leading = (token: Token | undefined): string =>
  token && 'text' in token ? /^\s*/.exec(token.text)![0] : '';
const trailing = (token: Token | undefined): string =>
  token && 'text' in token ? /\s*$/.exec(token.text)![0] : '';

function messageOf(inner: readonly Token[], { in_attribute }: { in_attribute: boolean }): Message {
  const values: Value[] = [];
  const tags: { open: readonly Chunk[]; close: string }[] = [];
  const open: number[] = [];
  const parts = inner.map((token) => {
    if ('text' in token) return decoded(token.text);
    if (!isTag(token)) return `{${values.push(token) - 1}}`;
    if (token.kind === 'close') return `</${open.pop()!}>`;
    const number =
      tags.push({ open: token.chunks, close: token.kind === 'void' ? '' : `</${token.name}>` }) - 1;
    if (token.kind === 'open') open.push(number);
    return token.kind === 'void' ? `<${number}/>` : `<${number}>`;
  });
  return { message: parts.join('').replace(/\s+/g, ' ').trim(), in_attribute, values, tags };
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u{A0}' };
const decoded = (text: string): string =>
  text.replace(/&(\w+);/g, (whole, name: string) =>
    Object.hasOwn(ENTITIES, name) ? ENTITIES[name]! : whole,
  );

function merged(chunks: readonly Chunk[]): Chunk[] {
  const result: Chunk[] = [];
  for (const chunk of chunks) {
    const last = result.at(-1);
    if (chunk === '') continue;
    if (typeof chunk === 'string' && typeof last === 'string') result[result.length - 1] = last + chunk;
    else result.push(chunk);
  }
  return result;
}
