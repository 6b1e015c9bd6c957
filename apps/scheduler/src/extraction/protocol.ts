/** Between extract.ts and its child process: the file arrives on standard input, the text leaves on standard output. */

/** Number of characters kept of a text. */
export const LONGEST_TEXT = 500_000;
/** A child that observes the limit can't produce more. */
export const LONGEST_OUTPUT_BYTES = 4 * LONGEST_TEXT;
/** Limit for files that are not plain text: larger ones would not fit into the child's memory when unpacked. */
export const LONGEST_INPUT_BYTES = 64 * 1024 * 1024;
/** Exit status for a file that its parser rejected; the reason is on standard error. */
export const UNREADABLE = 3;
