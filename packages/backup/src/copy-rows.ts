import { invalid } from '@acp/kernel';

/** Those that name a file hold little else: the longest is the text of an attachment. */
const LONGEST_ROW = 16 * 1024 * 1024;

/** Puts PostgreSQL's COPY text, which comes in pieces of any size, together to rows again. */
export class CopyRows {
  #begun: Buffer = Buffer.alloc(0);

  /** @returns the fields of each row that this piece completes, escaped as they are: keys of the storage need no escapes */
  *complete(piece: Buffer): Generator<string[]> {
    const text = Buffer.concat([this.#begun, piece]);
    let start = 0;
    // Line breaks and tabs within a field are escaped.
    for (let end; (end = text.indexOf('\n', start)) >= 0; start = end + 1)
      yield text.toString('utf8', start, end).split('\t');
    this.#begun = text.subarray(start);
    if (this.#begun.length > LONGEST_ROW) throw invalid('the backup is damaged: a row has no end');
  }
}
