import { asciiLowerCase, invalid } from '@acp/kernel';

let known: Promise<ReadonlySet<string>> | undefined;

/** About 49,000 of the most frequently leaked passwords, a few megabytes loaded on first use. */
async function commonPasswords(): Promise<ReadonlySet<string>> {
  known ??= import('@zxcvbn-ts/language-common').then(
    ({ default: { dictionary } }) =>
      new Set(dictionary['passwords-common'].map((word) => asciiLowerCase(word))),
  );
  return known;
}

/** Letters that digits and symbols replace in supposedly clever passwords. */
const SPELLINGS: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  $: 's',
  '@': 'a',
  '!': 'i',
};

/** A common word is no better with capitals, digits for letters, or a few digits and symbols at the end. */
function* spellings(password: string): Generator<string> {
  const plain = asciiLowerCase(password);
  const bare = plain.replace(/[^a-z]+$/, '');
  for (const text of [plain, bare]) {
    yield text;
    yield text.replaceAll(/[013457$@!]/g, (sign) => SPELLINGS[sign]!);
  }
}

/**
 * Rejects new passwords that are guessed first: common ones, and the user's own name or address.
 * @param about facts about the user; words of fewer than four letters are ignored
 * @throws invalid
 */
export async function assertUncommonPassword(password: string, about: readonly string[] = []): Promise<void> {
  if (await isCommonPassword(password))
    throw invalid('password is one of the most common ones: choose another');
  const own = new Set(
    about
      .flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)])
      .filter((word) => word.length >= 4)
      .map((word) => asciiLowerCase(word)),
  );
  if ([...spellings(password)].some((spelled) => own.has(spelled)))
    throw invalid('password is your name or address: choose another');
}

/** The same check as a question, for an existing password. */
export async function isCommonPassword(password: string): Promise<boolean> {
  const common = await commonPasswords();
  return [...spellings(password)].some((spelled) => common.has(spelled));
}
