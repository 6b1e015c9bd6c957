/** Recognises verb lines in a model's text, both for applying them and for hiding them while the text streams. */
import { verbByName, type VerbRow } from './verbs.ts';

const verbShape = /^\/([a-z]+(?:[-_][a-z]+)*)(?=[ \t]|$)/;
const mcpShape = /^\/mcp:([^\s{]{1,200})(?=[ \t{]|$)/;
/** Indented, in a list, bold, in backticks or in capitals. */
const nearShape = /^[ \t]{0,8}(?:[-*+] |\d{1,3}[.)] )?[*_`]{0,3}\/([a-z]+(?:[-_][a-z]+)*)(?=[ \t*_`:]|$)/i;
const longestName = Math.max(...[...verbByName.keys()].map((name) => name.length));

export interface VerbLine {
  verb: VerbRow;
  rest: string;
  /** The tool of an `/mcp:` line. */
  tool: string | null;
}

/** Whether a fenced block after the line belongs to it. A tool's input is on the line or, if that has none, in the block. */
export const takesBody = ({ verb, tool, rest }: VerbLine): boolean =>
  verb.body !== 'none' && (tool === null || rest === '');

/** Null for a line of prose; `word` for a line that looks like a verb but isn't one. Linear in the line's length. */
export function readVerbLine(line: string): VerbLine | { word: string } | null {
  if (!line.startsWith('/')) return null;
  const mcp = mcpShape.exec(line);
  if (mcp !== null) {
    return { verb: verbByName.get('mcp:')!, tool: mcp[1]!, rest: line.slice(mcp[0].length).trim() };
  }
  // A slash, the longest name and one more character: the expression never sees a line of a megabyte.
  const word = verbShape.exec(line.slice(0, longestName + 2))?.[1];
  if (word === undefined) return null;
  const verb = verbByName.get(word.replaceAll('_', '-'));
  return verb === undefined ? { word } : { verb, tool: null, rest: line.slice(word.length + 1).trim() };
}

/** The verb that a line of prose may have been meant as, though it doesn't start with its exact name; null for others. */
export function nearVerb(line: string): string | null {
  const word = nearShape.exec(line.slice(0, 2 * longestName))?.[1];
  return word !== undefined && verbByName.has(word.toLowerCase().replaceAll('_', '-')) ? word : null;
}
