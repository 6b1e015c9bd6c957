/**
 * A-Z in lower case and nothing else: what e-mail addresses are compared by. Unicode's rules make one letter of several
 * (the Kelvin sign of k), and so one account of two addresses.
 */
export function asciiLowerCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
