/**
 * A deterministic stand-in for an embedding model: the pieces of a text's words, hashed into dimensions. It knows nothing
 * about the world. It can show that words with a common stem are near each other and, with `synonyms`, that texts without a
 * common word are: words of one group count as one.
 */
import { createHash } from 'node:crypto';

export type Embed = (texts: string[]) => number[][];

const PIECE = 4;
/** Weight of a word whose meaning is known, in pieces. */
const KNOWN = 3;

export function wordEmbeddings(synonyms: readonly (readonly string[])[] = [], dimensions = 256): Embed {
  const group = new Map(synonyms.flatMap((words) => words.map((word) => [word, words[0]!] as const)));
  return (texts) => texts.map((text) => embedded(text, group, dimensions));
}

function embedded(text: string, group: ReadonlyMap<string, string>, dimensions: number): number[] {
  const vector: number[] = Array.from({ length: dimensions }, () => 0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []) {
    const known = group.get(word);
    const weight = known === undefined ? 1 : KNOWN;
    for (const piece of known === undefined ? piecesOf(word) : [`= ${known}`]) {
      const hash = createHash('sha256').update(piece).digest();
      // Several dimensions per piece, with signs: sums of unrelated pieces cancel out.
      for (let at = 0; at < 8; at += 1) {
        const place = hash.readUInt16LE(at * 3) % dimensions;
        vector[place]! += (hash[at * 3 + 2]! & 1) === 1 ? weight : -weight;
      }
    }
  }
  // A text without words also gets a vector: providers return one for any text.
  if (!vector.some((number) => number !== 0)) vector[0] = 1;
  return vector;
}

function piecesOf(word: string): string[] {
  const pieces = [word];
  for (let at = 0; at + PIECE <= word.length; at += 1) pieces.push(word.slice(at, at + PIECE));
  return pieces;
}
