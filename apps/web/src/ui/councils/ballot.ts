/** The line of a ranking that the votes were read from. In linear time: JavaScript begins a line after any of these characters. */
const BALLOT = /^[^\w\n\r\u2028\u2029]*RANKING\b.*\n?/im;

/** The text without that line: the page shows names instead of its letters. */
export const withoutBallot = (text: string): string => text.replace(BALLOT, '');
