/** Finds mentions in comments (decisions 7.18): `@Name`, `@Name-in-words`, `@"Name in words"`. */
import { withoutCode } from './prose.ts';

interface Mentionable {
  id: string;
  name: string;
}

/** Only the beginning is scanned: mentions further down in a text of a megabyte are ignored. */
const LOOKED_AT = 100_000;

/** A preceding letter makes it an e-mail address, a following one another name. */
const WORD = /[\p{L}\p{N}_]/u;

/** Initial letters, in both cases, of possible mentions, for looking up agents. */
export function mentionInitials(markdown: string): string[] {
  const text = lookedAt(markdown);
  const initials = new Set<string>();
  for (const at of signs(text)) {
    const start = text[at + 1] === '"' ? at + 2 : at + 1;
    const [initial] = text.slice(start, start + 2);
    if (initial !== undefined) initials.add(initial).add(initial.toUpperCase());
  }
  return [...initials];
}

/**
 * Ids of agents mentioned outside of code, each once, in order of first mention. The longest matching name counts; if several
 * agents share it, all are mentioned.
 */
export function findMentions(markdown: string, agents: readonly Mentionable[]): string[] {
  const names = nameTree(agents);
  const text = lookedAt(markdown);
  const found = new Set<string>();
  for (const at of signs(text)) {
    const ids = text[at + 1] === '"' ? quoted(names, text, at + 2) : longest(names, text, at + 1);
    for (const id of ids) found.add(id);
  }
  return [...found];
}

function lookedAt(markdown: string): string {
  return markdown.includes('@') ? fold(withoutCode(markdown.slice(0, LOOKED_AT))) : '';
}

/** Ignores case; a hyphen stands for a space. */
function fold(text: string): string {
  return text.toLowerCase().replaceAll(/\s/g, '-');
}

function* signs(text: string): Generator<number> {
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1))
    if (at === 0 || !WORD.test(text[at - 1]!)) yield at;
}

/** A trie: a lookup goes only as far as some name does, however many names there are. */
interface NameNode {
  ids: string[];
  next: Map<string, NameNode>;
}

function nameTree(agents: readonly Mentionable[]): NameNode {
  const root: NameNode = { ids: [], next: new Map() };
  for (const agent of agents) {
    let node = root;
    for (const letter of fold(agent.name.trim())) {
      let next = node.next.get(letter);
      if (!next) node.next.set(letter, (next = { ids: [], next: new Map() }));
      node = next;
    }
    if (node !== root) node.ids.push(agent.id);
  }
  return root;
}

function longest(root: NameNode, text: string, start: number): string[] {
  let best: string[] = [];
  let last = '';
  let node: NameNode | undefined = root;
  for (let position = start; node; position += last.length) {
    const letter = characterAt(text, position);
    const inWord = WORD.test(last) && WORD.test(letter);
    if (node.ids.length > 0 && !inWord) best = node.ids;
    node = node.next.get(letter);
    last = letter;
  }
  return best;
}

function quoted(root: NameNode, text: string, start: number): string[] {
  let node: NameNode | undefined = root;
  for (let position = start; node;) {
    const letter = characterAt(text, position);
    if (letter === '"') return node.ids;
    node = node.next.get(letter);
    position += letter.length;
  }
  return [];
}

function characterAt(text: string, position: number): string {
  const code = text.codePointAt(position);
  return code === undefined ? '' : String.fromCodePoint(code);
}
