/**
 * Lower-cases A-Z and nothing else, for comparing e-mail addresses. Unicode case folding maps several characters to one
 * letter (the Kelvin sign to k), which would merge two addresses into one account.
 */
export function asciiLowerCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
