/** Between extract.ts and its child process: the file comes in by standard input, the text goes out by standard output. */

/** Characters of a text that are kept. */
export const LONGEST_TEXT = 500_000;
/** More can't come out of a child that keeps to it. */
export const LONGEST_OUTPUT_BYTES = 4 * LONGEST_TEXT;
/** Of what is not plain text: more would not fit into the child's memory as it unpacks. */
export const LONGEST_INPUT_BYTES = 64 * 1024 * 1024;
/** Exit status of a file that its parser refused; the reason is on standard error. */
export const UNREADABLE = 3;
